/** The servers in the test's process that sellers and clients on other runtimes talk to. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { FAULTS } from '../adapters/facilitator/fault-replies.js'

/** Requests wait until it opens. */
export async function gateServer() {
  const waiting: ServerResponse[] = []
  let enter = () => {}
  const entered = new Promise<void>(resolve => {
    enter = resolve
  })
  const server = createServer((_, response) => {
    waiting.push(response)
    enter()
  })
  return {
    entered,
    open: () => waiting.map(response => response.end('opened')),
    ...(await listening(server)),
  }
}

/** Resolves with the first message that is posted to it. */
export async function webhookServer() {
  let tell = (_: { txId: string }) => {}
  const first = new Promise<{ txId: string }>(resolve => {
    tell = resolve
  })
  const server = createServer(async (request, response) => {
    tell((await json(request)) as { txId: string })
    response.end()
  })
  return { first, ...(await listening(server)) }
}

/** Does at `/0`, `/1`, … what hostile facilitators do. */
export function hostileServer() {
  return listening(
    createServer((request, response) => {
      const [, reply] = FAULTS[Number(request.url!.slice(1))]!
      request.resume().on('end', () => reply(response))
    }),
  )
}

async function listening(server: ReturnType<typeof createServer>) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
