import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closing } from './closing.js'

/** A server of Node for the test that is running; resolves to its URL. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer((req, res) => listener(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing({
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
