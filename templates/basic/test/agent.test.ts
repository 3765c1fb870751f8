/** A paid call, on a sandbox: real transactions and signatures, play money. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { SvcClient, type SvcServer, serve } from '@svc/sdk'
import { type Sandbox, startSandbox } from '@svc/sdk/sandbox'
import { agentFor } from '../src/agent.ts'

let sandbox: Sandbox
let server: SvcServer
let url: string
let client: SvcClient

before(async () => {
  sandbox = await startSandbox()
  const { facilitatorUrl, algodUrl, seller, wallet } = sandbox
  server = serve(agentFor({ payTo: seller.address, network: 'testnet' }), {
    port: 0,
    facilitatorUrl,
    algodUrl,
    handleSignals: false,
    onReady: () => {},
    onShutdown: () => {},
  })
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const caps = { maxPrice: '$0.01', maxPerDay: '$1' }
  client = new SvcClient({ mnemonic: wallet.mnemonic, network: 'testnet', algodUrl, ...caps })
})

after(async () => {
  await server.shutdown()
  await sandbox.close()
})

const earned = () => sandbox.balance(sandbox.seller.address).usdc

test('a call costs a cent and is answered', async () => {
  const { data } = await client.call(`${url}/echo`, { text: 'hello' })
  assert.deepEqual(data, { text: 'hello' })
  assert.equal(earned(), 10_000n)
})

test('what does not fit the schema is refused, and costs nothing', async () => {
  const before = earned()
  await assert.rejects(client.call(`${url}/echo`, { text: '' }), { code: 'call_failed', status: 400 })
  assert.equal(earned(), before)
})
