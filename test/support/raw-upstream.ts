/** A server behind a seller, byte by byte: it keeps what it was sent, and answers whatever a test says. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface RawUpstream {
  readonly url: string
  /** The requests as they came, oldest first. */
  readonly received: Received[]
  /** What it does with the next requests. */
  answer: (socket: Socket, request: Received) => void
  close(): Promise<void>
}

export interface Received {
  readonly line: string
  /** Lines, in the order in which they came. */
  readonly headers: readonly string[]
  readonly body: string
}

export const OK = (socket: Socket) =>
  void socket.write(http('200 OK', ['Content-Type: text/plain'], 'the answer'))

export function http(status: string, headers: readonly string[] = [], body = ''): string {
  return `HTTP/1.1 ${[status, ...headers, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`
}

export async function rawUpstream(): Promise<RawUpstream> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    let read = ''
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', chunk => {
      read += chunk.toString('latin1')
      for (;;) {
        const end = read.indexOf('\r\n\r\n')
        if (end === -1) return
        const [line, ...headers] = read.slice(0, end).split('\r\n')
        const length = Number(/^content-length: *(\d+)$/im.exec(headers.join('\n'))?.[1] ?? 0)
        if (read.length < end + 4 + length) return
        const request = { line: line!, headers, body: read.slice(end + 4, end + 4 + length) }
        read = read.slice(end + 4 + length)
        upstream.received.push(request)
        upstream.answer(socket, request)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: RawUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: OK,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return upstream
}
