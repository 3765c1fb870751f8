/** Hands the body of an answer over as it comes. It reads no chunk before its reader asks for one. */
import type { SvcError } from '../../domain/errors.js'
import type { Clock } from '../../ports/clock.js'
import { withTimeout } from '../../ports/timeouts-and-aborts.js'
import { isSuccess } from './read-response.js'
import { causeOf, type HttpReply, headOf, wholeReply } from './send-request.js'

/** Leaves the body of a success to be read. Anything else is read whole, to be judged as any failure. */
export async function openReply(response: Response): Promise<HttpReply> {
  const head = headOf(response)
  if (!isSuccess(head)) return wholeReply(response)
  return { ...head, body: response.body ?? new Blob([]).stream() }
}

/** How a body is watched while it is read, and what its reader gets when it ends before its end. */
export interface Watch {
  readonly signal: AbortSignal | undefined
  readonly clock: Pick<Clock, 'after'>
  /** Bounds each wait for the next bytes. */
  readonly idleTimeoutMs: number
  readonly broken: (cause: string) => SvcError
  readonly aborted: () => SvcError
}

/** The same bytes. A break, a silence and the caller's signal are errors of its reader; each ends the connection. */
export function watchedBody(source: ReadableStream<Uint8Array>, watch: Watch): ReadableStream<Uint8Array> {
  const { signal, clock, idleTimeoutMs } = watch
  const reader = source.getReader()
  // A failure to end the connection changes nothing.
  const leave = () => void reader.cancel().catch(() => {})
  let unwatch = () => {}
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const abort = () => {
          unwatch()
          controller.error(watch.aborted())
          leave()
        }
        signal?.addEventListener('abort', abort)
        unwatch = () => signal?.removeEventListener('abort', abort)
        if (signal?.aborted) abort()
      },
      async pull(controller) {
        const silent = `no bytes within ${idleTimeoutMs} ms`
        try {
          const { done, value } = await withTimeout(clock, idleTimeoutMs, reader.read(), silent)
          // Cancelling the reader ends its read as if the stream had ended.
          if (signal?.aborted) return
          if (!done) return controller.enqueue(value)
          unwatch()
          controller.close()
        } catch (error) {
          unwatch()
          leave()
          throw watch.broken(causeOf(error))
        }
      },
      cancel(reason) {
        unwatch()
        return reader.cancel(reason)
      },
    },
    // By default, a stream reads one piece before anybody asks for it.
    { highWaterMark: 0 },
  )
}
