import type { Problem } from '../../../ports/charge.js'
import type { Call } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { looksCovered } from './entitle.js'

/** A probe asks for the price: it has no input to validate, and no handler runs for it. */
export function validate(deps: ChargeDeps, call: Call) {
  const { request, endpoint } = call
  const isGet = endpoint.def.method === 'GET'
  const isBare = request.payment.kind === 'none' && request.body.kind === 'none'
  if (isBare && request.subscriptionKey === undefined) return probe(call)
  if (request.body.kind === 'malformed') {
    call.problem = { message: request.body.why, code: 'invalid_json' }
    return 'invalid'
  }
  const input = isGet ? request.query : request.body.kind === 'read' ? request.body.value : {}
  const checked = endpoint.check === undefined ? { value: input } : endpoint.check(input)
  if ('value' in checked) {
    call.input = checked.value
    return 'valid'
  }
  const { field, message } = checked.invalid
  const problem = { message, fields: { field, schema: endpoint.def.input } }
  if (isBare) return probeUnlessCovered(deps, call, problem)
  call.problem = problem
  return 'invalid'
}

function probe(call: Call) {
  call.isProbe = true
  call.input = call.endpoint.def.method === 'GET' ? call.request.query : {}
  return 'probe' as const
}

/**
 * A key that opens nothing counts as absent, so a request with only such a key is a probe. If the store does not
 * answer, the input is refused: a quote would make a subscriber pay again.
 */
async function probeUnlessCovered(deps: ChargeDeps, call: Call, problem: Problem) {
  if ((await looksCovered(deps, call)) === 'uncovered') return probe(call)
  call.problem = problem
  call.retryAfterMs = undefined
  return 'invalid' as const
}
