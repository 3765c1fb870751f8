/** What differs where Node's server speaks HTTP/2: its requests and responses only resemble those of HTTP/1. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'

/** The stream of one exchange; `undefined` over HTTP/1. The socket is the whole connection's, which carries many of them. */
export function http2StreamOf(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return (message as { readonly stream?: ServerHttp2Stream }).stream
}

/** The headers as HTTP/1 would have them. HTTP/2 names the host `:authority`, and has the method and the path among them. */
export function plainHeaders({ httpVersionMajor, headers }: IncomingMessage): IncomingHttpHeaders {
  if (httpVersionMajor < 2) return headers
  const { ':authority': host = headers.host } = headers as { readonly ':authority'?: string }
  const plain = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  return { ...Object.fromEntries(plain), ...(host !== undefined && { host }) }
}
