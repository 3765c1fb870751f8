/** Signed quotes, bought on a sandbox: real transactions and signatures, play money. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { SvcClient, type SvcServer, serve } from '@svc/sdk'
import { type Sandbox, startSandbox } from '@svc/sdk/sandbox'
import { agentFor } from '../src/agent.ts'
import { quoteSigner, type SignedQuote, verifyQuote } from '../src/signed-quote.ts'
import { offlineSource, sourceFrom } from '../src/source.ts'

const signer = quoteSigner()
let sandbox: Sandbox
let server: SvcServer
let url: string
let client: SvcClient

before(async () => {
  sandbox = await startSandbox()
  const { facilitatorUrl, algodUrl, seller, wallet } = sandbox
  const parts = { payTo: seller.address, network: 'testnet', signer, source: offlineSource } as const
  server = serve(agentFor(parts), {
    port: 0,
    facilitatorUrl,
    algodUrl,
    handleSignals: false,
    onReady: () => {},
    onShutdown: () => {},
  })
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/price`
  const caps = { maxPrice: '$0.01', maxPerDay: '$1' }
  client = new SvcClient({ mnemonic: wallet.mnemonic, network: 'testnet', algodUrl, ...caps })
})

after(async () => {
  await server.shutdown()
  await sandbox.close()
})

const earned = () => sandbox.balance(sandbox.seller.address).usdc

test('a quote is paid for, and anybody who knows the address can verify it', async () => {
  const { data: quote } = await client.call<SignedQuote>(url, { pair: 'ALGO/USD' })
  assert.equal(earned(), 5_000n)
  assert.equal(verifyQuote(quote, signer.address), 'good')
  assert.equal(verifyQuote({ ...quote, price: '9' }, signer.address), 'bad signature')
  assert.equal(verifyQuote(quote, quoteSigner().address), 'foreign signer')
  const later = new Date(Date.parse(quote.validUntil) + 1)
  assert.equal(verifyQuote(quote, signer.address, later), 'expired')
})

test('a pair without a price costs nothing', async () => {
  const before = earned()
  await assert.rejects(client.call(url, { pair: 'AB/CD' }), { code: 'call_failed', status: 404 })
  assert.equal(earned(), before)
})

test('nobody is sold the built-in prices for real', () => {
  assert.throws(() => sourceFrom({}), /PRICE_URL/)
})
