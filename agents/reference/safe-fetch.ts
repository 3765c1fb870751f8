/**
 * Reads a URL of a stranger over http or https. It reads from public addresses only, also after each redirect, with bounds of
 * bytes and of time, without credentials, and with a new connection for each call.
 */
import { Agent, buildConnector, errors, request } from 'undici'
import {
  type ConnectorOptions,
  guardedConnector,
  NotPublic,
} from '../../src/adapters/outbound/guarded-fetch.js'
import { deadline, systemClock } from '../../src/ports/clock.js'

export interface SafeFetchOptions extends Partial<ConnectorOptions> {
  /** The time limit of the whole call, redirects and bodies included. @default 10000 */
  readonly timeoutMs?: number
  /** @default 262144 */
  readonly bodyBytesMax?: number
  /** @default 3 */
  readonly redirectsMax?: number
}

export interface SafeRequest {
  readonly method: 'GET' | 'POST'
  /** JSON text. */
  readonly body?: string
  readonly signal?: AbortSignal
}

export interface SafeAnswer {
  /** The URL after redirects. */
  readonly url: URL
  readonly redirects: readonly string[]
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
}

/** @throws Refused */
export type SafeFetch = (url: string, request: SafeRequest) => Promise<SafeAnswer>

/** `url`: it is no http(s) URL, or it has credentials. `silence`: no server answered, or it did not answer in HTTP. */
export type RefusedReason = NotPublic['reason'] | 'url' | 'redirects' | 'size' | 'time' | 'silence'

/** Why a stranger's URL was not read. */
export class Refused extends Error {
  constructor(
    readonly reason: RefusedReason,
    message: string,
  ) {
    super(message)
  }
}

const HEADER_BYTES_MAX = 32_768
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export function safeFetch(options: SafeFetchOptions = {}): SafeFetch {
  const { timeoutMs = 10_000, bodyBytesMax = 262_144, redirectsMax = 3 } = options
  const connect = guardedConnector(buildConnector, { ...options, timeoutMs })
  const bounds = { maxHeaderSize: HEADER_BYTES_MAX, maxResponseSize: bodyBytesMax }

  return async (start, { method, body, signal: stopped }) => {
    // The dispatcher is of this call only, so connections that the server keeps open end with the call.
    const dispatcher = new Agent({ connect, pipelining: 0, ...bounds })
    const redirects: string[] = []
    let url = webUrl(start)
    const { signal, clear } = deadline(systemClock, timeoutMs, stopped)
    let sent = { method, body }
    try {
      for (;;) {
        const headers = headersFor(sent)
        const answer = await request(url, { ...sent, headers, dispatcher, signal, responseHeaders: null })
        // Not decompressed: a small response stays small.
        const bytes = Buffer.from(await answer.body.arrayBuffer())
        const { statusCode: status } = answer
        const received = headersOf(answer.headers)
        const location = REDIRECTS.has(status) ? received.get('location') : null
        if (location === null) return { url, redirects, status, headers: received, bytes }
        if (redirects.length >= redirectsMax)
          throw new Refused('redirects', `more than ${redirectsMax} redirects`)
        url = webUrl(location, url)
        redirects.push(url.href)
        // As in browsers, only 307 and 308 send the body again.
        if (status < 307) sent = { method: 'GET', body: undefined }
      }
    } catch (error) {
      if (stopped?.aborted) throw error
      if (signal.aborted) throw new Refused('time', `no whole answer within ${timeoutMs} ms`)
      if (error instanceof errors.ResponseExceededMaxSizeError)
        throw new Refused('size', `the answer has more than ${bodyBytesMax} bytes`)
      throw refusedBy(error)
    } finally {
      clear()
      await dispatcher.destroy()
    }
  }
}

function headersFor({ body }: Pick<SafeRequest, 'body'>) {
  const type = body !== undefined && { 'content-type': 'application/json' }
  return { accept: 'application/json, */*;q=0.5', 'user-agent': 'svc-reference-agent', ...type }
}

function webUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Refused('url', 'only absolute http and https URLs are read')
  }
  if (url.username !== '' || url.password !== '') throw new Refused('url', 'a URL must not hold credentials')
  url.hash = ''
  return url
}

function headersOf(given: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(given)) {
    for (const value of [values ?? []].flat()) headers.append(name, value)
  }
  return headers
}

function refusedBy(error: unknown): Refused {
  if (error instanceof Refused) return error
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  const refusal = [error, cause].find(one => one instanceof NotPublic)
  return refusal ? new Refused(refusal.reason, refusal.message) : new Refused('silence', message)
}
