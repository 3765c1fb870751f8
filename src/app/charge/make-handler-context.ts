/** What a handler gets beside its input: the payment, a signal, and a log for the seller and the caller. */
import { shown } from '../../domain/errors.js'
import type { HandlerContext } from '../../domain/handler.js'
import { costInBaseUnits, formatUsd, parseBaseUnits, usdNumber } from '../../domain/money.js'
import { cutText } from '../../domain/untrusted-text.js'
import type { ChargeRequest } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import type { Call } from './call-at-work.js'
import type { ChargeDeps } from './charge-deps.js'
import { handlerLogged } from './tell-observers.js'

/** The handler's signal, made on first access: most handlers never use it, and making one costs more than the whole walk. */
export class Cancellation {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #listener: (() => void) | undefined

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

  /** For one listener of our own, which needs no signal. */
  onCancel(listener: () => void): void {
    if (this.isCancelled) listener()
    this.#listener = listener
  }

  cancel(why: string): void {
    this.#reason ??= new Error(why)
    this.#controller?.abort(this.#reason)
    this.#listener?.()
  }
}

const CANCELLATION = Symbol('cancellation')
const REQUEST = Symbol('request')

interface MadeOf {
  readonly [CANCELLATION]: Cancellation
  readonly [REQUEST]: ChargeRequest
}

/** What a context was made of, for handlers of our own. */
export function madeOf(context: HandlerContext) {
  const { [CANCELLATION]: cancellation, [REQUEST]: request } = context as HandlerContext & MadeOf
  return { cancellation, request }
}

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
    params: request.target!.params,
    log: logOf(deps, call),
    charge: (usd: string) => measure(call, usd),
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
    [REQUEST]: request,
  }
  return Object.defineProperty(context, 'signal', LAZY_SIGNAL) as typeof context & { signal: AbortSignal }
}

/**
 * What the handler says that the call cost. It throws in the handler, whose failure costs nothing, and where the handler catches that,
 * the call fails all the same.
 */
function measure({ balance, terms: { requirements } }: Call, usd: unknown): void {
  const most = balance?.reserved ?? Number(requirements?.amount ?? 0)
  if (balance?.charged !== undefined) throw new Error('charge came after the call was charged')
  const said = costInBaseUnits(usd)
  const isWithin = said !== undefined && (said <= most || (balance ?? requirements) === undefined)
  if (balance !== undefined) balance.said = isWithin ? Number(said) : 'nonsense'
  if (isWithin) return
  const why = said === undefined ? 'is no USD amount' : `is more than the price, ${formatUsd(BigInt(most))}`
  throw new Error(`charge: ${shown(usd)} ${why}`)
}

const LOGS_MAX = 20
const LOG_MESSAGE_LENGTH_MAX = 1_000
const LOG_DATA_LENGTH_MAX = 2_000

function logOf(deps: ChargeDeps, call: Call): HandlerContext['log'] {
  const log = (message: string, data?: unknown) => {
    if (call.handled.logs.length === LOGS_MAX) call.handled.logs.shift()
    call.handled.logs.push({ atMs: deps.clock.now(), ...said(deps, call, message, data) })
  }
  const toSeller = (message: string, data?: unknown) => void said(deps, call, message, data)
  return Object.assign(log, { private: toSeller })
}

/**
 * Tells the seller. The entry is rendered now: later changes to `data`, or by a logger, do not change it, and it cannot break or swell
 * the error answer that carries it.
 */
function said(deps: ChargeDeps, call: Call, message: string, data: unknown) {
  const text = cutText(String(message), LOG_MESSAGE_LENGTH_MAX)
  const entry = () => ({ message: text, ...(data !== undefined && { data: loggable(data, deps.logger) }) })
  const about = { ...entry(), endpoint: call.endpoint.def.name, traceId: call.traceId }
  deps.logger.info(about, text)
  if (handlerLogged.hasSubscribers) handlerLogged.publish(about)
  return entry()
}

const warned = new WeakSet<Logger>()

function loggable(data: unknown, logger: Logger): unknown {
  try {
    const text = JSON.stringify(data, withoutSecrets) ?? 'null'
    if (text.includes(MASKED) && !warned.has(logger))
      logger.warn({}, 'a log entry has a field that is named like a secret: it is masked')
    if (text.includes(MASKED)) warned.add(logger)
    return text.length > LOG_DATA_LENGTH_MAX ? `${cutText(text, LOG_DATA_LENGTH_MAX)}…` : JSON.parse(text)
  } catch {
    return 'not JSON'
  }
}

const SECRET =
  /passw|passphrase|secret|token|api[-_]?key|private[-_]?key|mnemonic|credential|authorization|cookie/i
const MASKED = '[masked: its name looks like a secret]'

/**
 * Callers read the entries. Errors hold private data (those of an HTTP library hold the request's headers), and fields that are named like
 * secrets hold secrets. A number is none: `{ tokens: 120 }`.
 */
function withoutSecrets(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key]
  if (original instanceof Error) return original.name
  return SECRET.test(key) && (typeof value === 'string' || typeof value === 'object') && value
    ? MASKED
    : value
}
