import { emptyBody } from '../../../domain/body-type.js'
import { mapSyncOrAsync } from '../../../domain/state-machine/run-machine.js'
import type { Problem } from '../../../ports/charge.js'
import { withTimeout } from '../../../ports/clock.js'
import type { Checked } from '../../../ports/input-validator.js'
import type { Call } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { leaveKeyAside, looksCovered } from './entitle.js'

/** A probe asks for the price: it has no input to validate, and no handler runs for it. */
export function validate(deps: ChargeDeps, call: Call) {
  const { request, endpoint } = call
  const isBare = request.payment.kind === 'none' && request.body.kind === 'none'
  if (isBare && request.subscriptionKey === undefined && call.balance === undefined) return probe(deps, call)
  if (request.body.kind === 'malformed') {
    call.end.problem = {
      message: request.body.why,
      code: endpoint.def.bodyType ? 'invalid_text' : 'invalid_json',
    }
    return 'invalid'
  }
  const isGet = call.request.target!.method === 'GET'
  const input = isGet
    ? queryOf(call)
    : request.body.kind === 'read'
      ? request.body.value
      : emptyBody(endpoint.def.bodyType)
  return mapSyncOrAsync(checked(deps, call, input), result => judged(deps, call, result, isBare))
}

/** @throws what a library's schema throws, and Error where it takes too long. */
function checked(deps: ChargeDeps, { endpoint }: Call, input: unknown): Checked | Promise<Checked> {
  if (endpoint.check === undefined) return { value: input }
  const result = endpoint.check(input)
  return result instanceof Promise ? withTimeout(deps.clock, deps.rules.timeouts.inputMs, result) : result
}

function judged(deps: ChargeDeps, call: Call, result: Checked, isBare: boolean) {
  if ('value' in result) {
    call.input = result.value
    return 'valid'
  }
  const { field, message } = result.invalid
  const problem = { message, fields: { field, schema: call.endpoint.def.input } }
  if (isBare && call.balance === undefined) return probeUnlessCovered(deps, call, problem)
  call.end.problem = problem
  return 'invalid'
}

/** A price function gets what it would get for the paid call, so that the quote is that call's price. */
function probe(deps: ChargeDeps, call: Call) {
  const { price, inputSchema, bodyType } = call.endpoint.def
  const sent = call.request.target!.method === 'GET' ? queryOf(call) : emptyBody(bodyType)
  call.input = sent
  if (typeof price !== 'function') return 'probe' as const
  return mapSyncOrAsync(checked(deps, call, sent), result => {
    // What a library's schema refuses does not have the types that the function was promised.
    call.input = 'value' in result ? result.value : inputSchema === undefined ? sent : {}
    return 'probe' as const
  })
}

/** Node's parser makes a query without a prototype, which libraries may take for no object. */
function queryOf({ endpoint, request }: Call): Readonly<Record<string, unknown>> {
  return endpoint.def.inputSchema === undefined ? request.query : { ...request.query }
}

/**
 * A key that opens nothing counts as absent, so a request with only such a key is a probe. If the store does not
 * answer, the input is refused: a quote would make a subscriber pay again.
 */
async function probeUnlessCovered(deps: ChargeDeps, call: Call, problem: Problem) {
  if ((await looksCovered(deps, call)) === 'uncovered') {
    leaveKeyAside(call)
    return probe(deps, call)
  }
  call.end.problem = problem
  call.end.retryAfterMs = undefined
  return 'invalid' as const
}
