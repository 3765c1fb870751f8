/** A facilitator's REST on a port of this machine, until it is closed. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ProtocolFacilitator } from '../ports/facilitator.js'
import { type FacilitatorAppOptions, facilitatorApp } from './facilitator-app.js'

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const CONNECTIONS_MAX = 1_024

export type ServedFacilitator = Awaited<ReturnType<typeof serveFacilitator>>

interface ServedAt {
  readonly port: number
  readonly host: string
  readonly options: FacilitatorAppOptions
}

export async function serveFacilitator(facilitator: ProtocolFacilitator, { port, host, options }: ServedAt) {
  const timeouts = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS }
  const server = createServer(timeouts, facilitatorApp(facilitator, options).callback())
  server.maxConnections = CONNECTIONS_MAX
  server.listen(port, host)
  await once(server, 'listening')
  const { address, port: bound } = server.address() as AddressInfo
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${bound}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      // Settlements that have begun are answered before their connections end.
      await facilitator.close()
      server.closeIdleConnections()
      await closed
    },
  }
}
