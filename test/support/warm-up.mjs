/** Does what nearly every process of the tests does, so that V8 has compiled it: see `bundled.ts`. */
import { SvcClient } from '../../dist/src/client.js'
import { defineAgent, defineEndpoint, serve } from '../../dist/src/index.js'
import '../../dist/src/redis.js'
import { startSandbox } from '../../dist/src/sandbox.js'

const sandbox = await startSandbox()
process.env.SVC_SANDBOX = sandbox.url
const server = serve(
  defineAgent({
    name: 'Sayer',
    handle: 'sayer',
    description: 'Says.',
    payTo: sandbox.seller.address,
    network: 'testnet',
    endpoints: [defineEndpoint({ name: 'say', price: '$0.01', handler: () => ({ said: true }) })],
  }),
  { port: 0, host: '127.0.0.1', onReady, onShutdown: () => {} },
)

async function onReady({ port }) {
  const { mnemonic } = sandbox.wallet
  const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.url })
  await client.call(`http://127.0.0.1:${port}/say`, {})
  await server.shutdown()
  await sandbox.close()
  // All commands, each of which is loaded to be listed.
  process.argv = [...process.argv.slice(0, 2), '--help']
  await import('../../dist/cli/main.js')
}
