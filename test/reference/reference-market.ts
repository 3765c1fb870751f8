/** The whole catalogue, on a sandbox: mainnet's endpoints, paid and asked about on testnet, which is what a sandbox is. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BASE_PATH, referenceAgent } from '../../agents/reference/agent.js'
import { chainReader } from '../../agents/reference/chain/chain-reader.js'
import { type Sources, sourcesOf } from '../../agents/reference/sources.js'
import { SvcClient, serve } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'

export interface ReferenceMarket {
  readonly sandbox: Sandbox
  readonly client: SvcClient
  readonly sources: Sources
  /** The URL of an endpoint. */
  at(name: string): string
  /** Buys an answer. */
  ask<T>(name: string, body: object): Promise<T>
  /** A stranger's endpoint, answering as it is told. */
  stranger(answer: (response: ServerResponse, url: string) => void): Promise<string>
  close(): Promise<void>
}

export async function openReferenceMarket(): Promise<ReferenceMarket> {
  const sandbox = await startSandbox()
  const { identityApp } = sandbox.registry
  const dead = 'http://127.0.0.1:1'
  const onSandbox = sourcesOf({ network: 'testnet', sandboxUrl: sandbox.url, identityApp })
  const sources: Sources = {
    ...onSandbox,
    chains: {
      ...onSandbox.chains,
      // No test may ask a public node, or depend on there being none.
      mainnet: chainReader({ network: 'mainnet', algodUrl: dead, indexerUrl: dead }),
    },
  }
  const agent = referenceAgent({ payTo: sandbox.seller.address, network: 'mainnet', sources })
  const server = serve(agent, {
    port: 0,
    host: '127.0.0.1',
    network: 'testnet',
    basePath: BASE_PATH,
    facilitatorUrl: sandbox.url,
    algodUrl: sandbox.url,
    handleSignals: false,
    onReady: () => {},
    onShutdown: () => {},
  })
  await new Promise(resolve => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new SvcClient({
    mnemonic: sandbox.wallet.mnemonic,
    network: 'testnet',
    algodUrl: sandbox.url,
    retry: false,
  })
  const strangers: ReturnType<typeof createServer>[] = []
  const at = (name: string) => `${url}${BASE_PATH}/${name}`
  return {
    sandbox,
    client,
    sources,
    at,
    ask: async <T>(name: string, body: object) => (await client.call<T>(at(name), body)).data,
    async stranger(answer) {
      let own = ''
      const stranger = createServer((_, response) => answer(response, own)).listen(0, '127.0.0.1')
      strangers.push(stranger)
      await new Promise(resolve => stranger.once('listening', resolve))
      own = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/work`
      return own
    },
    async close() {
      for (const stranger of strangers) {
        stranger.closeAllConnections()
        stranger.close()
      }
      await server.shutdown()
      await sources.close()
      await sandbox.close()
    },
  }
}
