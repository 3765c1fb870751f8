import { isJson, mediaTypeIn } from './body-type.js'
import { bufferOf } from './bytes.js'
import { deeperThan, JSON_DEPTH_MAX, mayHoldUnusualNumbers, plainNumbers } from './json.js'

/** A handler's answer, rendered: it can be stored, replayed and sent without failing. */
export interface Answer {
  readonly status: number
  /** Lower-case names. `content-type` is among them where there is a body. */
  readonly headers: Readonly<Record<string, string>>
  /** Each value of `set-cookie`: the one header that may come several times and cannot be joined (RFC 6265, section 3). */
  readonly cookies?: readonly string[]
  /** Well-formed text, which is sent as UTF-8, or bytes. */
  readonly body: string | Uint8Array
  /** The body, where it is sent as it comes. Then `body` is empty, until the stream has ended whole. */
  readonly stream?: AnswerStream
}

/** A body that is sent as it comes. */
export interface AnswerStream {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Aborts where it must end now, also if its reader takes nothing. */
  readonly cut: AbortSignal
}

/** An opened stream. Whoever has it reads it to its end, or ends it. */
export interface StreamSource {
  next(): Promise<{ readonly done: boolean; readonly bytes?: Uint8Array }>
  /** Lets the source go, whatever it is doing. May be called again. */
  end(): void
}

/** What a handler of ours returns: an answer that another server gave, and its body where that is a stream. */
export class ForwardedAnswer {
  constructor(
    readonly answer: Answer,
    readonly source?: StreamSource,
  ) {}
}

/** How many bytes a body has. */
export function bytesIn(body: string | Uint8Array = ''): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

/** The content of a delivered answer, for transports that carry data instead of bytes. */
export type AnswerContent =
  | { readonly kind: 'json'; readonly value: unknown; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly base64: string; readonly mediaType: string }

/** What claims to be JSON but is not, or has a number that would be written as another, is text. Without a body it is empty. */
export function contentOf({ headers, body }: Answer): AnswerContent {
  const mediaType = mediaTypeIn(headers['content-type'])
  const claimsJson = isJson(mediaType)
  if (!claimsJson && !mediaType.startsWith('text/') && body.length > 0) {
    const base64 = bytesOf(body).toString('base64')
    return { kind: 'bytes', base64, mediaType: mediaType || 'application/octet-stream' }
  }
  const text = typeof body === 'string' ? body : bytesOf(body).toString('utf8')
  if (!claimsJson || deeperThan(text, JSON_DEPTH_MAX)) return { kind: 'text', text }
  try {
    const value: unknown = JSON.parse(text)
    return { kind: 'json', value: mayHoldUnusualNumbers(text) ? plainNumbers(value) : value, text }
  } catch {
    return { kind: 'text', text }
  }
}

function bytesOf(body: string | Uint8Array): Buffer {
  if (typeof body === 'string') return Buffer.from(body, 'utf8')
  return bufferOf(body)
}
