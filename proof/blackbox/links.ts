/** The wires between processes, as TCP: each may be cut or go silent, for one process alone. And the balancer in front. */
import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export interface Link {
  readonly port: number
  /** `silent`: nothing arrives, and nobody is told. `cut`: connections end, and new ones are refused. */
  set(state: 'up' | 'silent' | 'cut'): void
  close(): Promise<void>
}

/** A wire to a port of this machine. */
export async function openLink(to: number): Promise<Link> {
  let state: 'up' | 'silent' | 'cut' = 'up'
  const sockets = new Set<Socket>()
  const server = createServer(near => {
    if (state === 'cut') return near.destroy()
    const far = connect(to, '127.0.0.1')
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        into.destroy()
      })
      from.on('data', bytes => into.write(bytes))
      if (state === 'silent') from.pause()
    }
  })
  return {
    port: await listening(server),
    set(next) {
      state = next
      for (const socket of sockets) {
        if (next === 'cut') socket.destroy()
        else if (next === 'silent') socket.pause()
        else socket.resume()
      }
    },
    close: () => closed(server, sockets),
  }
}

export interface Balancer {
  readonly url: string
  /** Where each replica listens; `undefined` while calls are not sent to it. */
  readonly ports: (number | undefined)[]
  close(): Promise<void>
}

/** Round robin. One request goes to one replica, once: who sends again must know that they do. */
export async function openBalancer(replicas: number): Promise<Balancer> {
  const ports: (number | undefined)[] = Array(replicas).fill(undefined)
  let turn = 0
  const server = createHttp((incoming, outgoing) => {
    const up = ports.filter(port => port !== undefined)
    if (up.length === 0) return unanswered(outgoing)
    passOn(incoming, outgoing, up[turn++ % up.length]!)
  })
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const port = await listening(server)
  return { url: `http://127.0.0.1:${port}`, ports, close: () => closed(server, sockets) }
}

function passOn(incoming: IncomingMessage, outgoing: ServerResponse, port: number): void {
  const { url: path, method, socket } = incoming
  const headers = { ...incoming.headers, 'x-forwarded-for': socket.remoteAddress }
  const upstream = request({ host: '127.0.0.1', port, path, method, headers }, answer => {
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
    // A replica that dies half way through its answer cuts its caller's connection.
    answer.on('error', () => outgoing.destroy())
  })
  upstream.on('error', () => (outgoing.headersSent ? outgoing.destroy() : unanswered(outgoing)))
  outgoing.on('close', () => upstream.destroy())
  incoming.pipe(upstream)
}

/** As deploy/nginx.conf says it: a replica that did not answer may have been paid. */
function unanswered(outgoing: ServerResponse): void {
  outgoing.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' })
  outgoing.end(
    '{"error":{"code":"settlement_unknown","message":"No replica answered. Send the same request again."}}',
  )
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function closed(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy()
  server.close()
  await once(server, 'close')
}
