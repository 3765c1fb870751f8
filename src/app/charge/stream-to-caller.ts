/** The stream of a charged call while it leaves: bounded in time, cut where its caller or its server goes. */
import type { Answer } from '../../domain/handler.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { Call } from './call-at-work.js'
import type { ChargeDeps, EndpointEntry } from './charge-deps.js'
import { BoundedBuffer, collected, type StreamEnd } from './stream-from-handler.js'

/** How long a stream may take; 0 where the endpoint sells none. */
export function streamMsOf({ stream, streamTimeout = 300_000, upstream }: EndpointEntry['def']): number {
  return (stream ?? upstream !== undefined) ? streamTimeout : 0
}

/** A stream that takes too long is broken by its caller where that part of the time was spent waiting for the caller. */
const UNREAD_MAX = 0.1

/**
 * Gives the call's answer its stream. If it breaks, its consumer gets the error and closes the connection without a clean end, so
 * that no reader takes it for whole. It is over when the caller has it, or when it is cut: a reader that stops reading can
 * hold neither the server nor its key for longer than `streamTimeout`.
 *
 * @param keptMax how many bytes of it are kept for callers that retry
 */
export function sendStream(deps: ChargeDeps, call: Call, keptMax: number): Promise<StreamEnd> {
  const { caller } = call.request
  const streamTimeout = streamMsOf(call.endpoint.def)
  const source = call.handled.source!
  const kept = new BoundedBuffer(keptMax)
  const cutting = new AbortController()
  let isComplete = false
  /** Since when the source waits for its reader; `undefined` while it is asked. */
  let unreadSinceMs: number | undefined = deps.clock.monotonic()
  let unreadMs = 0
  let interrupt: (cause: Error) => void = () => {}
  let end!: (brokenBy: EndedCall['brokenBy'], cause?: unknown) => void
  const ended = new Promise<StreamEnd>(resolve => {
    let isOver = false
    end = (by, cause) => {
      if (isOver) return
      isOver = true
      for (const stop of stops) stop()
      const brokenBy = by ?? (isComplete ? undefined : 'seller')
      if (brokenBy) {
        const { traceId, payment, endpoint } = call
        const broken = { err: cause, traceId, txId: payment.txId, endpoint: endpoint.def.name, brokenBy }
        const cost = isFreeStream(call, brokenBy) ? 'takes nothing' : 'stays charged'
        deps.logger.warn(broken, `a stream broke; it ${cost}`)
      }
      if (!isComplete) {
        interrupt(new Error('the stream is over'))
        discardStream(call)
      }
      resolve({ brokenBy, bytes: isComplete ? kept.bytes : undefined })
    }
  })
  const cut = (brokenBy: 'caller' | 'seller', why: string) => {
    const cause = new Error(why)
    end(brokenBy, cause)
    cutting.abort(cause)
  }
  const stops = [
    // Else a caller could stop reading until the work that is left takes too long, read that, and pay nothing.
    deps.clock.after(streamTimeout, () => {
      const isSellers = unreadSinceMs === undefined && unreadMs < streamTimeout * UNREAD_MAX
      cut(isSellers ? 'seller' : 'caller', `the stream took longer than ${streamTimeout} ms`)
    }),
    deps.stop.onCut(() => cut('seller', 'the server stops')),
    caller.onGone(() => {
      // A complete stream may have arrived: `onEnd` says so.
      if (!isComplete) cut('caller', 'the caller has gone')
    }),
  ]
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        cutting.signal.throwIfAborted()
        unreadMs += deps.clock.monotonic() - unreadSinceMs!
        unreadSinceMs = undefined
        const next = await new Promise<Awaited<ReturnType<typeof source.next>>>((resolve, reject) => {
          interrupt = reject
          source.next().then(resolve, reject)
        })
        unreadSinceMs = deps.clock.monotonic()
        if (next.done) break
        // Copy it: the source may use its buffer again before this chunk has left.
        const chunk = new Uint8Array(next.bytes!)
        kept.add(chunk)
        yield chunk
      }
      isComplete = true
    } catch (cause) {
      end('seller', cause)
      throw cause
    } finally {
      // A consumer that ends the loop early has lost its caller.
      if (!isComplete) end('caller')
    }
  }
  const unsent = (cause: unknown) => end('seller', cause)
  call.handled.answer = { ...call.handled.answer!, stream: { chunks: chunks(), cut: cutting.signal, unsent } }
  caller.onEnd(arrived => end(arrived ? undefined : 'caller'))
  if (caller.gone()) cut('caller', 'the caller has gone')
  else if (deps.stop.cutting()) cut('seller', 'the server stops')
  return ended
}

/**
 * Reads the stream of a call whose caller has got another answer.
 *
 * @throws what the source throws, and Error where it is too large, takes too long or the server stops
 */
export async function wholeStream(deps: ChargeDeps, call: Call, bytesMax: number): Promise<Answer> {
  const streamTimeout = streamMsOf(call.endpoint.def)
  const cutting = new AbortController()
  const cut = (why: string) => cutting.abort(new Error(why))
  const stops = [
    deps.clock.after(streamTimeout, () => cut(`the stream took longer than ${streamTimeout} ms`)),
    deps.stop.onCut(() => cut('the server stops')),
  ]
  if (deps.stop.cutting()) cut('the server stops')
  try {
    const { answer, source } = call.handled
    return await collected({ answer: answer!, source: source! }, cutting.signal, bytesMax)
  } catch (cause) {
    discardStream(call)
    throw cause
  } finally {
    for (const stop of stops) stop()
  }
}

/** On a balance, and in a window that counts calls, a stream that its seller broke costs nothing. One that its buyer broke does. */
export function isFreeStream({ balance, window }: Call, brokenBy: EndedCall['brokenBy']): boolean {
  return balance?.said === 'nonsense' || (brokenBy === 'seller' && !!(balance ?? window.used?.isCounted))
}

/** Ends the source of an answer that is not sent, and tells the handler. */
export function discardStream({ handled: { source, cancellation } }: Call): void {
  cancellation?.cancel('the stream is not sent to its end')
  source?.end()
}
