import type { Handler, HandlerContext } from '../../../domain/endpoint.js'
import { parseBaseUnits } from '../../../domain/money.js'
import { usdNumber } from '../../../domain/price-of.js'
import { type Call, log } from '../call.js'
import { answeredFailure, resemblesFailure, type ToldFailure, thrownFailure } from '../handler-failure.js'
import { NoAnswer, render } from '../render.js'
import type { Listing, World } from '../world.js'

type Ended = 'delivered' | 'failed' | 'timedOut' | 'abandoned' | 'stopped'

/** Runs the handler for a verified payment. Nothing is charged by this. */
export async function deliver(world: World, call: Call): Promise<Ended | 'expired'> {
  // What verifying and waiting took is gone from what can still settle.
  const leftMs = call.settleByMs - world.clock.monotonic()
  const deadlineMs = Math.min(call.handlerMs, leftMs)
  const how = deadlineMs > 0 ? await work(world, call, deadlineMs) : 'timedOut'
  if (how !== 'timedOut' || deadlineMs >= call.listing.def.timeout) return how
  // The payer chose how long the payment is valid: a run that this cut is not the handler's failure.
  call.refusal =
    'The payment expires before this work is done; nothing was charged. Sign one that is valid for longer'
  return 'expired'
}

/** Runs it for a caller whose window is paid. */
export function serve(world: World, call: Call): Promise<Ended> {
  return work(world, call, call.listing.def.timeout)
}

/**
 * The handler against its deadline, the caller's patience and the end of the process: whichever comes first decides,
 * and what the handler does after that is ignored.
 */
function work(world: World, call: Call, deadlineMs: number): Promise<Ended> {
  const { caller } = call.request
  if (caller.gone()) return Promise.resolve('abandoned')
  if (world.stop.cutting()) return Promise.resolve('stopped')
  const cancellation = new Cancellation()
  return new Promise(resolve => {
    const end = (how: Ended) => {
      stopTimer()
      stopListening()
      stopWaiting()
      resolve(how)
      if (how !== 'delivered' && how !== 'failed') cancellation.cancel(`the call ended: ${how}`)
    }
    const stopTimer = world.clock.after(deadlineMs, () => end('timedOut'))
    const stopListening = caller.onGone(() => end('abandoned'))
    const stopWaiting = world.stop.onCut(() => end('stopped'))
    answer(world, call, cancellation).then(end, (cause: unknown) => {
      try {
        if (!cancellation.isCancelled) fail(world, call, cause)
      } catch {
        // What was thrown cannot even be looked at; the final state says enough.
      } finally {
        end('failed')
      }
    })
  })
}

async function answer(world: World, call: Call, cancellation: Cancellation): Promise<'delivered' | 'failed'> {
  const returned = await (call.listing.def.handler as Handler)(contextOf(world, call, cancellation))
  const rendered = await render(returned)
  if (cancellation.isCancelled) return 'failed'
  if (rendered.status < 400) {
    if (resemblesFailure(returned)) warnOnce(world, call.listing)
    call.answer = rendered
    return 'delivered'
  }
  const failure = answeredFailure(rendered)
  if (failure === undefined) call.answer = rendered
  else tell(world, call, failure)
  return 'failed'
}

/** The handler's signal, made when it is first looked at: most never do, and making one costs more than the whole walk. */
class Cancellation {
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
    this.#reason = new Error(why)
    this.#controller?.abort(this.#reason)
  }
}

const CANCELLATION = Symbol('cancellation')

/**
 * One descriptor for all contexts: a getter written in each literal would give each a shape of its own, which V8 keeps
 * until its next full collection. Its own property, so that a context that is spread takes its signal along.
 */
const LAZY_SIGNAL: PropertyDescriptor & ThisType<{ [CANCELLATION]: Cancellation }> = {
  get() {
    return this[CANCELLATION].signal
  },
  enumerable: true,
  configurable: true,
}

function contextOf(world: World, call: Call, cancellation: Cancellation): HandlerContext {
  const { request, requirements, payer, txId } = call
  const context = {
    body: call.input,
    headers: request.headers,
    query: request.query,
    log: (message: string, data?: unknown) => log(call, world.clock.now(), message, data),
    payment: requirements
      ? {
          txId,
          payer,
          amount: requirements.amount,
          usd: usdNumber(parseBaseUnits(requirements.amount)!),
          asset: requirements.asset,
        }
      : { amount: '0', asset: world.assetId },
    idempotencyKey: request.idempotencyKey,
    traceId: call.traceId,
    [CANCELLATION]: cancellation,
  }
  return Object.defineProperty(context, 'signal', LAZY_SIGNAL) as typeof context & { signal: AbortSignal }
}

function fail(world: World, call: Call, cause: unknown): void {
  world.logger.error(
    { err: cause, endpoint: call.listing.def.name, traceId: call.traceId },
    cause instanceof NoAnswer ? cause.message : 'a handler failed',
  )
  tell(world, call, thrownFailure(cause))
}

function tell(world: World, call: Call, { problem, withheld }: ToldFailure): void {
  call.problem = problem
  if (withheld === undefined) return
  world.logger.warn(
    { withheld, endpoint: call.listing.def.name, traceId: call.traceId },
    'a handler failed in words that only the server may say; callers are told others',
  )
}

const warned = new WeakSet<Listing>()

function warnOnce(world: World, listing: Listing): void {
  if (warned.has(listing)) return
  warned.add(listing)
  world.logger.warn(
    { endpoint: listing.def.name },
    'a handler returned an object with a status of 400 or above: it is an answer, and charged; to fail, throw an SvcError or return a Response',
  )
}
