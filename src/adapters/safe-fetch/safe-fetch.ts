/**
 * Reads a URL of a stranger over http or https. It reads from public addresses only, also after each redirect, with bounds of
 * bytes and of time, without credentials, and with a new connection for each call.
 */
import { Agent, request } from 'undici'
import { systemClock } from '../../ports/clock.js'
import { deadline } from '../../ports/timeouts-and-aborts.js'
import { type ConnectorOptions, guardedConnector } from './public-connector.js'
import { Refused } from './url-refusal.js'

export interface SafeFetchOptions extends Partial<ConnectorOptions> {
  /** The time limit of the whole call, redirects and bodies included. @default 10000 */
  readonly timeoutMs?: number
  /** @default 262144 */
  readonly bodyBytesMax?: number
  /** @default 3 */
  readonly redirectsMax?: number
  /** @default 'svc' */
  readonly userAgent?: string
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

const TIMEOUT_MS = 10_000
const BODY_BYTES_MAX = 262_144
const HEADER_BYTES_MAX = 32_768
const REDIRECTS_MAX = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export function safeFetch(options: SafeFetchOptions = {}): SafeFetch {
  const { timeoutMs = TIMEOUT_MS } = options
  const { bodyBytesMax = BODY_BYTES_MAX, redirectsMax = REDIRECTS_MAX, userAgent = 'svc' } = options
  const connect = guardedConnector({ ...options, timeoutMs })

  return async (start, { method, body, signal: stopped }) => {
    // The dispatcher is of this call only, so connections that the server keeps open end with the call.
    const dispatcher = new Agent({ connect, pipelining: 0, maxHeaderSize: HEADER_BYTES_MAX })
    const redirects: string[] = []
    let url = webUrl(start)
    const { signal, clear } = deadline(systemClock, timeoutMs, stopped)
    let sent = { method, body }
    try {
      for (;;) {
        const { status, headers, bytes } = await read(url, sent, {
          dispatcher,
          signal,
          bodyBytesMax,
          userAgent,
        })
        const location = REDIRECTS.has(status) ? headers.get('location') : null
        if (location === null) return { url, redirects, status, headers, bytes }
        if (redirects.length >= redirectsMax)
          throw new Refused('redirects', `more than ${redirectsMax} redirects`)
        url = webUrl(location, url)
        redirects.push(url.href)
        // As in browsers, only 307 and 308 send the body again.
        if (status < 307) sent = { method: 'GET', body: undefined }
      }
    } catch (error) {
      throw stopped?.aborted ? error : refusedBy(error, signal.aborted, timeoutMs)
    } finally {
      clear()
      await dispatcher.destroy()
    }
  }
}

interface Reading {
  readonly dispatcher: Agent
  readonly signal: AbortSignal
  readonly bodyBytesMax: number
  readonly userAgent: string
}

async function read(
  url: URL,
  { method, body }: Pick<SafeRequest, 'method' | 'body'>,
  { dispatcher, signal, bodyBytesMax, userAgent }: Reading,
) {
  const answer = await request(url, {
    method,
    headers: {
      accept: 'application/json, */*;q=0.5',
      'user-agent': userAgent,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
    dispatcher,
    signal,
    responseHeaders: null,
  })
  return {
    status: answer.statusCode,
    headers: headersOf(answer.headers),
    bytes: await boundedBytes(answer.body, bodyBytesMax),
  }
}

/** Reads the body without decompressing it, so that a small response stays small. */
async function boundedBytes(body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > bytesMax) throw new Refused('size', `the answer has more than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
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

function refusedBy(error: unknown, late: boolean, timeoutMs: number): Refused {
  if (error instanceof Refused) return error
  if (late) return new Refused('time', `no whole answer within ${timeoutMs} ms`)
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  return cause instanceof Refused ? cause : new Refused('silence', message)
}
