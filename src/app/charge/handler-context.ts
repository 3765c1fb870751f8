/** What a handler gets beside its input: the payment, a signal, and a log for its caller. */

import type { HandlerContext } from '../../domain/endpoint.js'
import { parseBaseUnits, usdNumber } from '../../domain/money.js'
import { cutText } from '../../domain/strangers-text.js'
import type { Call } from './call-record.js'
import type { ChargeDeps } from './charge-deps.js'

/** The handler's signal, made on first access: most handlers never use it, and making one costs more than the whole walk. */
export class Cancellation {
  #controller: AbortController | undefined
  #reason: Error | undefined

  get isCancelled(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  cancel(why: string): void {
    this.#reason ??= new Error(why)
    this.#controller?.abort(this.#reason)
  }
}

const CANCELLATION = Symbol('cancellation')

/**
 * One descriptor for all contexts: a getter in each literal would give each context its own shape, which V8 keeps
 * until its next full collection. The property is the context's own, so a spread copies the signal.
 */
const LAZY_SIGNAL: PropertyDescriptor & ThisType<{ [CANCELLATION]: Cancellation }> = {
  get() {
    return this[CANCELLATION].signal
  },
  enumerable: true,
  configurable: true,
}

export function contextOf(deps: ChargeDeps, call: Call, cancellation: Cancellation): HandlerContext {
  const { request } = call
  const { requirements } = call.terms
  const { payer, txId } = call.payment
  const context = {
    body: call.input,
    headers: request.headers,
    query: request.query,
    log: (message: string, data?: unknown) => log(call, deps.clock.now(), message, data),
    payment: requirements
      ? {
          txId,
          payer,
          amount: requirements.amount,
          usd: usdNumber(parseBaseUnits(requirements.amount)!),
          asset: requirements.asset,
        }
      : { amount: '0', asset: deps.owner.network.usdcId },
    idempotencyKey: call.holds.key ?? request.idempotencyKey,
    traceId: call.traceId,
    [CANCELLATION]: cancellation,
  }
  return Object.defineProperty(context, 'signal', LAZY_SIGNAL) as typeof context & { signal: AbortSignal }
}

const LOGS_MAX = 20
const LOG_MESSAGE_LENGTH_MAX = 1_000
const LOG_DATA_LENGTH_MAX = 2_000

/**
 * The entry is rendered when it is logged: later changes to `data` do not change it, and it cannot break or swell the
 * error answer that carries it.
 */
export function log(call: Call, atMs: number, message: string, data?: unknown): void {
  if (call.handled.logs.length === LOGS_MAX) call.handled.logs.shift()
  const entry = { atMs, message: cutText(String(message), LOG_MESSAGE_LENGTH_MAX) }
  call.handled.logs.push(data === undefined ? entry : { ...entry, data: loggable(data) })
}

function loggable(data: unknown): unknown {
  try {
    const text = JSON.stringify(data, withoutErrors) ?? 'null'
    return text.length > LOG_DATA_LENGTH_MAX ? `${cutText(text, LOG_DATA_LENGTH_MAX)}…` : JSON.parse(text)
  } catch {
    return 'not JSON'
  }
}

/**
 * Leaves errors out of log entries. Callers read the entries, and errors hold private data: the errors of an HTTP
 * library hold the request's headers.
 */
function withoutErrors(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key]
  return original instanceof Error ? original.name : value
}
