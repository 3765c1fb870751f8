/** Requests byte by byte: what no client library would let a test send. */
import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Sends the bytes as they are and reads until the server closes; ask for that with `Connection: close`. */
export function sendRaw(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const chunks: Buffer[] = []
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1')
      const split = text.indexOf('\r\n\r\n')
      resolve({ status: Number(text.slice(9, 12)), head: text.slice(0, split), body: text.slice(split + 4) })
    })
  })
}

/** One request line and headers, without a body unless given. */
export function rawRequest(
  method: string,
  target: string,
  headers: readonly string[] = [],
  body = '',
): string {
  const all = ['Host: agent.test', 'Connection: close', ...headers]
  if (body !== '') all.push(`Content-Length: ${Buffer.byteLength(body)}`)
  return `${method} ${target} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`
}
