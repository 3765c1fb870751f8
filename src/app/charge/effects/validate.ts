import type { Call } from '../call.js'
import type { World } from '../world.js'

/** A probe asks for the price: it carries nothing that could be validated, and nothing will be run for it. */
export function validate(_world: World, call: Call) {
  const { request, listing } = call
  const isGet = listing.def.method === 'GET'
  const offers = request.payment.kind !== 'none' || request.subscriptionKey !== undefined
  if (!offers && request.body.kind === 'none') {
    call.input = isGet ? request.query : {}
    return 'probe'
  }
  if (request.body.kind === 'malformed') {
    call.problem = { message: request.body.why, code: 'invalid_json' }
    return 'invalid'
  }
  const input = isGet ? request.query : request.body.kind === 'read' ? request.body.value : {}
  const checked = listing.check === undefined ? { value: input } : listing.check(input)
  if ('value' in checked) {
    call.input = checked.value
    return 'valid'
  }
  const { field, message } = checked.invalid
  call.problem = { message, fields: { field, schema: listing.def.input } }
  return 'invalid'
}
