/**
 * Sends one HTTP request and receives its response. Redirects are not followed: what a call carries
 * (a payment, a subscription key, the caller's own headers) is meant for the address that was named. Answers are bounded
 * in time and in bytes.
 */
import { SdkError } from '../../domain/errors.js'
import type { Clock } from '../../ports/clock.js'
import { readWebBody } from '../../ports/read-web-body.js'
import { deadline } from '../../ports/timeouts-and-aborts.js'
import type { HttpRequest } from './build-request.js'

export interface HttpReply {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  /** The body was larger than the bound, and was not read. */
  readonly oversized: boolean
  /** Where a redirect points; never followed. */
  readonly location?: string
  /** A success whose body is handed over and not read: `bytes` is empty. Only a stream is received so. */
  readonly body?: ReadableStream<Uint8Array>
}

/** Receives a response, within the time that its exchange has. */
export type Receive = (response: Response) => Promise<HttpReply>

/** `lost`: no whole answer arrived. The other side may have acted upon the request or not; `head` is there if its head came. */
export type ExchangeResult =
  | { readonly kind: 'answered'; readonly reply: HttpReply }
  | { readonly kind: 'lost'; readonly cause: string; readonly head?: HttpReply }

export type Exchange = (request: HttpRequest, timeoutMs: number) => Promise<ExchangeResult>

const ANSWER_BYTES_MAX = 16 * 1024 * 1024

/** @throws SvcError `aborted`, only when the caller's own signal fires. */
export function exchangeOver(
  fetchImpl: typeof fetch | undefined,
  clock: Pick<Clock, 'after'>,
  receive: Receive = wholeReply,
): Exchange {
  return async (request, timeoutMs) => {
    const { url, method, headers, body, signal } = request
    const ended = deadline(clock, timeoutMs, signal)
    let head: HttpReply | undefined
    try {
      signal?.throwIfAborted()
      // The global fetch is looked up at each call: a program may replace it later.
      const send = fetchImpl ?? globalThis.fetch
      const init = {
        method,
        headers: { ...headers },
        body,
        redirect: 'manual' as const,
        signal: ended.signal,
      }
      const response = await send(url.href, init)
      head = headOf(response)
      return { kind: 'answered', reply: await receive(response) }
    } catch (error) {
      if (signal?.aborted) throw new SdkError(`The call to ${url.origin} was aborted`, 'aborted')
      return { kind: 'lost', cause: causeOf(error), ...(head && { head }) }
    } finally {
      ended.clear()
    }
  }
}

export async function wholeReply(response: Response): Promise<HttpReply> {
  const bytes = await readWebBody(response.body, ANSWER_BYTES_MAX)
  return { ...headOf(response), bytes: bytes ?? NO_BYTES, oversized: bytes === undefined }
}

/** Everything that comes before the body. */
export function headOf(response: Response): HttpReply {
  const { status, headers, type, redirected } = response
  const redirect = (status >= 300 && status < 400) || type === 'opaqueredirect' || redirected
  const location = redirect ? (headers.get('location') ?? response.url) : undefined
  return { status, headers, bytes: NO_BYTES, oversized: false, location }
}

const NO_BYTES = new Uint8Array()

/** Fetch says "fetch failed" and hides the reason one level deeper. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof Error) return 'code' in cause && !cause.message ? String(cause.code) : cause.message
  return error.message
}
