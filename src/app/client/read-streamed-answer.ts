/** The result of `stream`: the head, and the body or its events as they come. No chunk is read before the reader asks for one. */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { SdkError, type SvcError } from '../../domain/errors.js'
import { jsonIn } from '../../domain/json.js'
import { type Clock, withTimeout } from '../../ports/clock.js'
import type { CallOptions, HttpRequest } from './build-request.js'
import { eventTooLarge, noEventStream, streamAborted, streamBroken } from './client-errors.js'
import { causeOf, mediaTypeOf } from './http-reply.js'
import { type CallResult, type Outcome, rememberOutcome, type StreamCost, toldOf } from './result-types.js'

/** One server-sent event. */
export interface StreamEvent<T = unknown> {
  /** The event's type, where the seller gave it one. */
  readonly event?: string
  /** The event's own id, where it has one. */
  readonly id?: string
  /** Parsed where it is JSON, else the text. */
  readonly data: T
}

/** Bounds one event. A seller could send one that never ends. */
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024

export async function* eventsIn<T>(
  body: ReadableStream<Uint8Array>,
  tooLarge: (charactersMax: number) => Error,
): AsyncGenerator<StreamEvent<T>, void, undefined> {
  for await (const message of messagesIn(body, tooLarge)) yield eventOf<T>(message)
}

/** An event without the empty line at its end is no event. Leaving the iteration ends the connection. */
export async function* messagesIn(
  body: ReadableStream<Uint8Array>,
  tooLarge: (charactersMax: number) => Error,
): AsyncGenerator<EventSourceMessage, void, undefined> {
  const found: EventSourceMessage[] = []
  let oversized = false
  const parser = createParser({
    maxBufferSize: EVENT_CHARACTERS_MAX,
    onEvent: event => found.push(event),
    onError: ({ type }) => {
      oversized ||= type === 'max-buffer-size-exceeded'
    },
  })
  const feed = promptly(parser.feed)
  const utf8 = new TextDecoder()
  // Not `for await`: Safari's streams cannot be iterated.
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      feed(utf8.decode(value, { stream: true }))
      yield* found.splice(0)
      if (oversized) throw tooLarge(EVENT_CHARACTERS_MAX)
    }
  } finally {
    // Does nothing where the stream has ended.
    reader.cancel().catch(() => {})
  }
}

/**
 * The parser keeps a CR at the end of a piece until the next piece shows whether an LF follows. A last event would be late
 * by one piece, or lost. So a CR there is made a whole line ending at once, and an LF that follows is left out.
 */
function promptly(feed: (text: string) => void): (text: string) => void {
  let endedInCr = false
  return text => {
    const rest = endedInCr && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') endedInCr = text.endsWith('\r')
    feed(rest.endsWith('\r') ? `${rest}\n` : rest)
  }
}

function eventOf<T>({ event, id, data }: EventSourceMessage): StreamEvent<T> {
  const value = jsonIn(data)
  return {
    ...(event !== undefined && { event }),
    ...(id !== undefined && { id }),
    data: (value === undefined ? data : value) as T,
  }
}

/** How a stream is asked for. */
export interface StreamOptions extends CallOptions {
  /** Ends the call with the code `aborted`, and later the stream. A request that was sent by then may still be paid and done. */
  readonly signal?: AbortSignal
  /**
   * The longest wait for the next bytes, in milliseconds. Only a reader that waits is timed. Node's own fetch gives up after
   * 300000.
   *
   * @default the client's `timeoutMs`
   */
  readonly idleTimeoutMs?: number
}

/** The head of an answer, and its body as it comes. Read the body once: as bytes by `body`, or as events by `events()`. */
export interface StreamResult extends Omit<CallResult, 'data'> {
  /** Of the answer. */
  readonly headers: Headers
  /** How often the answered request had been sent. */
  readonly attempts: number
  /**
   * The bytes as they come. Nothing is buffered that nobody reads. It throws `stream_broken` if the stream is cut off,
   * and `aborted` once the caller's signal has fired. Cancelling it ends the connection.
   */
  readonly body: ReadableStream<Uint8Array>
  /**
   * The server-sent events in the body. Leaving the loop ends the connection.
   *
   * @typeParam T The type that the caller expects of `data`; it is not checked.
   *
   * @throws SvcError `not_an_event_stream` at once, where the answer is something else: its `body` can still be read. In the
   * loop as `body`, and `event_too_large` for one of more than 16 Mi characters.
   */
  readonly events: <T = unknown>() => AsyncGenerator<StreamEvent<T>, void, undefined>
  /**
   * What the call took from a balance. Ask once the stream is over: its seller is asked under the call's key.
   *
   * @throws SvcError `network_error`, `call_failed`
   */
  readonly cost: () => Promise<StreamCost>
}

interface StreamSettings extends Omit<Watch, 'broken' | 'aborted' | 'reader'> {
  readonly origin: string
}

const TIMEOUT_MAX_MS = 2 ** 31 - 1

export function watchOf(
  { url, signal }: HttpRequest,
  { idleTimeoutMs }: StreamOptions,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): StreamSettings {
  const idleMs = idleTimeoutMs ?? timeoutMs
  if (!(idleMs > 0 && idleMs <= TIMEOUT_MAX_MS))
    throw new SdkError('SvcClient: idleTimeoutMs is a positive number', 'invalid_options')
  return { origin: url.origin, signal, clock, idleTimeoutMs: idleMs }
}

export function streamOf(outcome: Outcome, settings: StreamSettings): StreamResult {
  const { reply } = outcome
  const { origin } = settings
  const body = watchedBody(reply.body!, {
    ...settings,
    reader: outcome.reader,
    broken: cause => streamBroken(origin, outcome, cause),
    aborted: () => streamAborted(origin, outcome),
  })
  const result: StreamResult = {
    ...toldOf(outcome),
    headers: reply.headers,
    body,
    cost: outcome.cost ?? (async () => ({ charged: outcome.balance?.charged, left: outcome.balance?.left })),
    events<T>() {
      const type = mediaTypeOf(reply)
      if (type !== 'text/event-stream') throw noEventStream(origin, outcome, type)
      return eventsIn<T>(body, max => eventTooLarge(origin, outcome, max))
    },
  }
  return rememberOutcome(result, outcome)
}

export interface Watch {
  readonly signal: AbortSignal | undefined
  readonly clock: Pick<Clock, 'after'>
  /** Bounds each wait for the next bytes. */
  readonly idleTimeoutMs: number
  readonly reader?: Outcome['reader']
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
        unwatch = () => {
          signal?.removeEventListener('abort', abort)
          watch.reader?.over()
        }
        if (signal?.aborted) abort()
      },
      async pull(controller) {
        const silent = `no bytes within ${idleTimeoutMs} ms`
        watch.reader?.reads(true)
        try {
          const { done, value } = await withTimeout(clock, idleTimeoutMs, reader.read(), silent)
          // Cancelling the reader ends its read as if the stream had ended.
          if (signal?.aborted) return
          watch.reader?.reads(false)
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
