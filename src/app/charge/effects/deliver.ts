import { shown } from '../../../domain/errors.js'
import { type Answer, ForwardedAnswer, type Handler } from '../../../domain/handler.js'
import type { Call } from '../call-at-work.js'
import type { ChargeDeps, EndpointEntry } from '../charge-deps.js'
import { answeredFailure, resemblesFailure, type ToldFailure, thrownFailure } from '../handler-failure.js'
import { Cancellation, contextOf } from '../make-handler-context.js'
import { NoAnswer, render } from '../render-answer.js'
import { COLLECTED_BYTES_MAX, collected, type RenderedStream, renderStream } from '../stream-from-handler.js'
import { discardStream } from '../stream-to-caller.js'
import { handlerFailed } from '../tell-observers.js'

type Ended = 'delivered' | 'failed' | 'timedOut' | 'abandoned' | 'stopped'

/** Runs the handler for a verified payment. Charges nothing. */
export async function deliver(deps: ChargeDeps, call: Call): Promise<Ended | 'expired'> {
  // Verifying and waiting took part of the time in which the payment can settle.
  const leftMs = call.terms.settleByMs - deps.clock.monotonic()
  const deadlineMs = Math.min(call.terms.handlerMs, leftMs)
  const how = deadlineMs > 0 ? await work(deps, call, deadlineMs) : 'timedOut'
  if (how !== 'timedOut' || deadlineMs >= call.endpoint.def.timeout) return how
  // The payer chose how long the payment is valid. If the payment's end cuts the run, the handler did not fail.
  call.end.refusal =
    'The payment expires before this work is done; nothing was charged. Sign one that is valid for longer'
  return 'expired'
}

/** Runs the handler for a caller whose window or balance is paid. */
export function serve(deps: ChargeDeps, call: Call): Promise<Ended | 'measured'> {
  const ended = work(deps, call, call.endpoint.def.timeout)
  return call.balance === undefined ? ended : ended.then(how => measured(call, how))
}

function measured(call: Call, how: Ended): Ended | 'measured' {
  if (how !== 'delivered') return how
  if (call.balance!.said !== 'nonsense') return 'measured'
  // The handler caught what `charge` threw.
  call.handled.answer = undefined
  return 'failed'
}

/**
 * Waits for the handler, its deadline, the caller's hang-up or the end of the process. The first of them decides the
 * event; what the handler does later is ignored.
 */
function work(deps: ChargeDeps, call: Call, deadlineMs: number): Promise<Ended> {
  const { caller } = call.request
  if (caller.gone()) return Promise.resolve('abandoned')
  if (deps.stop.cutting()) return Promise.resolve('stopped')
  call.request.onPaid?.()
  const cancellation = new Cancellation()
  call.handled.cancellation = cancellation
  return new Promise(resolve => {
    const end = (how: Ended) => {
      stopTimer()
      stopListening()
      stopWaiting()
      resolve(how)
      if (how !== 'delivered' && how !== 'failed') cancellation.cancel(`the call ended: ${how}`)
    }
    const stopTimer = deps.clock.after(deadlineMs, () => end('timedOut'))
    const stopListening = caller.onGone(() => end('abandoned'))
    const stopWaiting = deps.stop.onCut(() => end('stopped'))
    answer(deps, call, cancellation).then(end, (cause: unknown) => {
      try {
        if (!cancellation.isCancelled) fail(deps, call, cause)
      } catch {
        // The thrown value cannot even be inspected. The final state says enough.
      } finally {
        end('failed')
      }
    })
  })
}

async function answer(
  deps: ChargeDeps,
  call: Call,
  cancellation: Cancellation,
): Promise<'delivered' | 'failed'> {
  const handler = call.request.handler ?? (call.endpoint.def.handler as Handler)
  const returned = await handler(contextOf(deps, call, cancellation))
  const rendering = renderFor(call, returned, cancellation)
  const rendered = rendering instanceof Promise ? await rendering : rendering
  if (cancellation.isCancelled) {
    discardStream(call)
    return 'failed'
  }
  if (rendered.status < 400) {
    if (resemblesFailure(returned)) warnOnce(deps, call.endpoint)
    call.handled.answer = rendered
    if (call.handled.source === undefined) call.endpoint.checkAnswer?.(rendered)
    return 'delivered'
  }
  const failure = answeredFailure(rendered)
  if (failure === undefined) call.handled.answer = rendered
  else tell(deps, call, failure)
  return 'failed'
}

/** A stream is opened now, and read when it is charged for. */
function renderFor(call: Call, returned: unknown, cancellation: Cancellation): Answer | Promise<Answer> {
  const isForwarded = returned instanceof ForwardedAnswer
  if (isForwarded && returned.source === undefined) return returned.answer
  const streamed = isForwarded
    ? (returned as RenderedStream)
    : call.endpoint.def.stream
      ? renderStream(returned)
      : undefined
  if (streamed === undefined) return render(returned)
  if (!call.request.streams || streamed.answer.status >= 400)
    return collected(streamed, cancellation.signal, COLLECTED_BYTES_MAX)
  call.handled.source = streamed.source
  return streamed.answer
}

function fail(deps: ChargeDeps, call: Call, cause: unknown): void {
  const failed = { endpoint: call.endpoint.def.name, traceId: call.traceId }
  if (handlerFailed.hasSubscribers) handlerFailed.publish({ ...failed, error: cause })
  const message = cause instanceof NoAnswer ? cause.message : 'a handler failed'
  deps.logger.error({ err: cause, ...failed }, message)
  tell(deps, call, thrownFailure(cause))
  if (deps.rules.keepsMessages) call.handled.thrown = cause instanceof Error ? String(cause) : shown(cause)
}

function tell(deps: ChargeDeps, call: Call, { problem, withheld }: ToldFailure): void {
  call.end.problem = problem
  if (withheld === undefined) return
  const message = 'a handler failed in words that only the server may say; callers are told others'
  deps.logger.warn({ withheld, endpoint: call.endpoint.def.name, traceId: call.traceId }, message)
}

const warned = new WeakSet<EndpointEntry>()

function warnOnce(deps: ChargeDeps, endpoint: EndpointEntry): void {
  if (warned.has(endpoint)) return
  warned.add(endpoint)
  const message =
    'a handler returned an object with a status of 400 or above: it is an answer, and charged; to fail, throw an SvcError or return a Response'
  deps.logger.warn({ endpoint: endpoint.def.name }, message)
}
