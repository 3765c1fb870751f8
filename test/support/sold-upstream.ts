/** A server that answers in raw bytes, sold route by route in a sandbox, as `svc sell` sells one. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { startSandbox } from '../../src/sandbox.js'
import { sell, type Terms } from '../../src/sell.js'
import { rawUpstream } from './raw-upstream.js'

export async function soldUpstream(
  about: Pick<Terms, 'routes' | 'balance'>,
  options: Partial<Parameters<typeof sell>[1]> = {},
) {
  const [sandbox, upstream] = await Promise.all([startSandbox(), rawUpstream()])
  const terms: Terms = {
    name: 'Sold',
    handle: 'test-agent',
    description: 'Sold.',
    payTo: sandbox.seller.address,
    network: 'testnet',
    upstream: upstream.url,
    ...about,
  }
  const { facilitatorUrl, algodUrl } = sandbox
  const still = { handleSignals: false, onReady() {}, onShutdown() {} }
  const advanced = { indexerUrl: algodUrl, ...options.advanced }
  const given = { port: 0, host: '127.0.0.1', facilitatorUrl, algodUrl, ...still, ...options, advanced }
  const server = sell(terms, given)
  await once(server, 'listening')
  return {
    sandbox,
    upstream,
    server,
    terms,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await server.shutdown('test over')
      await upstream.close()
      await sandbox.close()
    },
  }
}
