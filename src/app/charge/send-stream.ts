/** The stream of a charged call while it leaves: bounded in time, cut where its caller or its server goes. */
import type { Answer } from '../../domain/handler-answer.js'
import type { Call } from './call-record.js'
import type { ChargeDeps } from './charge-deps.js'

const STREAM_TIMEOUT_DEFAULT_MS = 300_000

/** How a stream ended. */
export interface StreamEnd {
  /** Its source ended by itself, and the caller got all of it. */
  readonly isWhole: boolean
  /** All of it, where it was to be kept and is small enough. */
  readonly bytes: Uint8Array | undefined
}

/**
 * Replaces the stream of the call's answer by one that is watched. If it breaks, its consumer gets the error, and closes the
 * connection without a clean end, so that no reader takes it for whole.
 *
 * @param keptMax how many bytes of it are kept for callers that retry
 */
export function sendStream(deps: ChargeDeps, call: Call, keptMax: number): Promise<StreamEnd> {
  const { caller } = call.request
  const { streamTimeout = STREAM_TIMEOUT_DEFAULT_MS } = call.endpoint.def
  const answer = call.answer!
  const source = answer.stream![Symbol.asyncIterator]()
  const kept = new Kept(keptMax)
  let isComplete = false
  let cause: Error | undefined
  let interrupt: (cause: Error) => void = () => {}
  const cut = (why: string) => {
    cause ??= new Error(why)
    interrupt(cause)
  }
  const stops = [
    deps.clock.after(streamTimeout, () => cut(`the stream took longer than ${streamTimeout} ms`)),
    deps.stop.onCut(() => cut('the server stops')),
    caller.onGone(() => cut('the caller has gone')),
  ]
  const release = () => {
    for (const stop of stops.splice(0)) stop()
    if (isComplete) return
    call.cancellation?.cancel('the stream was cut')
    returnQuietly(source)
  }
  async function* watched() {
    try {
      for (;;) {
        const { done, value } = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
          interrupt = reject
          if (cause === undefined) source.next().then(resolve, reject)
          else reject(cause)
        })
        if (done) break
        kept.add(value)
        yield value
      }
      isComplete = true
    } catch (err) {
      const { traceId, txId, endpoint } = call
      deps.logger.warn(
        { err, traceId, txId, endpoint: endpoint.def.name },
        'a stream broke; it stays charged',
      )
      throw err
    } finally {
      release()
    }
  }
  call.answer = { ...answer, stream: watched() }
  return new Promise(resolve => {
    caller.onEnd(arrived => {
      // A stream that was never pulled has run none of its own end.
      release()
      resolve({ isWhole: arrived && isComplete, bytes: arrived && isComplete ? kept.bytes : undefined })
    })
  })
}

/** Ends the stream of an answer that is not sent. */
export function discardStream({ stream }: Answer): void {
  if (stream !== undefined) returnQuietly(stream[Symbol.asyncIterator]())
}

function returnQuietly(source: AsyncIterator<Uint8Array>): void {
  source.return?.().catch(() => {
    // Nothing reads it any more, so nothing needs its error.
  })
}

class Kept {
  readonly #bytesMax: number
  readonly #chunks: Uint8Array[] = []
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  add(chunk: Uint8Array): void {
    this.#length += chunk.length
    // Copy it: a source may use its buffer again.
    if (this.#length <= this.#bytesMax) this.#chunks.push(new Uint8Array(chunk))
    else this.#chunks.length = 0
  }

  get bytes(): Uint8Array | undefined {
    return this.#length <= this.#bytesMax ? Buffer.concat(this.#chunks) : undefined
  }
}
