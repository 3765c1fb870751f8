/** Reads server-sent events out of bytes, as the HTML standard says (section 9.2.6). The parser is eventsource-parser. */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { jsonIn } from '../../domain/json.js'

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
