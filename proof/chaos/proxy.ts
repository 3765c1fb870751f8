/** A plain round-robin proxy. It sends on to the next replica what the chosen one did not accept, and nothing twice. */
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Proxy {
  readonly url: string
  /** Where each replica listens; `undefined` while it is down. */
  readonly ports: (number | undefined)[]
  close(): Promise<void>
}

export async function startProxy(replicas: number): Promise<Proxy> {
  const ports: (number | undefined)[] = Array(replicas).fill(undefined)
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const up = ports.filter(port => port !== undefined)
    const port = up[turn++ % Math.max(1, up.length)]
    if (port === undefined) return refuse(outgoing)
    passOn(incoming, outgoing, port)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ports,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function passOn(incoming: IncomingMessage, outgoing: ServerResponse, port: number): void {
  const { url: path, method, headers } = incoming
  const upstream = httpRequest({ host: '127.0.0.1', port, path, method, headers }, answer => {
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
    // A replica that dies half way through its answer cuts its caller's connection, as any proxy would.
    answer.on('error', () => outgoing.destroy())
  })
  upstream.on('error', () => (outgoing.headersSent ? outgoing.destroy() : refuse(outgoing)))
  outgoing.on('close', () => upstream.destroy())
  incoming.pipe(upstream)
}

function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(502).end()
}
