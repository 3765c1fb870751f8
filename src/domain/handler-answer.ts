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

/** How many bytes the body takes to send or to keep. */
export function bodyBytes({ body }: Answer): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}
