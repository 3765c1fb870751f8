/** The audit page over HTTP without an agent behind it: a test says itself which calls have ended. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { koaHost } from '../../src/adapters/http/koa-host.js'
import { routeTable } from '../../src/adapters/http/route-table.js'
import { auditRoutes } from '../../src/audit/page/audit-routes.js'
import { createFeed, type Feed, type FeedOptions } from '../../src/audit/page/viewer-feed.js'
import { chargeTable } from '../../src/domain/machines/charge.machine.js'
import { silentLogger } from '../../src/ports/logger.js'
import { HEADER } from './calls.js'

export interface Watched {
  readonly url: string
  readonly feed: Feed
  readonly server: Server
  close(): Promise<void>
}

export async function openWatched(options: Partial<FeedOptions> = {}, token?: string): Promise<Watched> {
  const feed = feedOf(options)
  const freeRoutes = auditRoutes(feed, token)
  const table = routeTable({ endpoints: [], freeRoutes, basePath: '', cors: true })
  const server = createServer(koaHost(table, silentLogger).app.callback()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    feed,
    server,
    async close() {
      feed.close()
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export function feedOf(options: Partial<FeedOptions> = {}): Feed {
  return createFeed({
    agent: 'Test agent',
    network: 'testnet',
    endpoints: ['even', 'odd'],
    machine: chargeTable,
    keepsMessages: true,
    header: HEADER,
    ...options,
  })
}
