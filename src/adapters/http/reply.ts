/** An HTTP answer: complete before its first byte is sent, unless its body is a stream. */

/** A body that is sent as it comes. */
export interface StreamedBody {
  readonly chunks: AsyncIterable<Uint8Array | string>
  /** Aborts where it must end now, also if its reader takes nothing. */
  readonly cut?: AbortSignal
}

export interface Reply {
  readonly status: number
  /** Names and values in turn, as `writeHead` takes them: no header is looked up, merged or set twice. */
  readonly headers: readonly string[]
  /** A stream is sent as its chunks arrive. If it breaks, or is cut, the response has no clean end. */
  readonly body?: string | Uint8Array | StreamedBody
  /** The reply to send if this one cannot be written: it still says how the call ended. */
  instead?(): Reply
}

export function jsonReply(status: number, value: unknown, headers: readonly string[] = []): Reply {
  return jsonTextReply(status, JSON.stringify(value), headers)
}

export function jsonTextReply(status: number, body: string, headers: readonly string[] = []): Reply {
  return { status, headers: ['Content-Type', 'application/json; charset=utf-8', ...headers], body }
}

export function isStream(body: Reply['body']): body is StreamedBody {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/** Whether HTTP allows no body with this status (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}
