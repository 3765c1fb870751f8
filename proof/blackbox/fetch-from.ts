/**
 * How the black box sends. Never on a connection that was used before: its other end may be closing it. Not by undici, nor by Node
 * 20's own `fetch`: where such a connection ends while a reader is late, they throw where nobody can catch it (nodejs/undici#5360).
 */
import { type RequestOptions, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** To the sandbox: its faucet, its faults, its indexer. */
export function askSandbox(url: string, { method = 'GET', body }: { method?: string; body?: string } = {}) {
  return exchange(url, { method }, body)
}

/** From an address of loopback of its own, so that sellers tell buyers apart. */
export function fetchFrom(localAddress: string, timeoutMs: number): typeof fetch {
  return (async (input: Request) => {
    const body = input.method === 'GET' ? undefined : await input.text()
    const signal = AbortSignal.timeout(timeoutMs)
    const headers = Object.fromEntries(input.headers)
    return exchange(input.url, { method: input.method, headers, localAddress, signal }, body)
  }) as typeof fetch
}

/** The whole answer. */
function exchange(url: string, options: RequestOptions, body?: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, agent: false }, incoming => {
      buffer(incoming).then(bytes => {
        const { statusCode: status = 0, statusMessage: statusText, rawHeaders } = incoming
        const headers = new Headers()
        for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
        const response = new Response([204, 304].includes(status) ? null : bytes, {
          status,
          statusText,
          headers,
        })
        resolve(Object.defineProperty(response, 'url', { value: url }))
      }, reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
