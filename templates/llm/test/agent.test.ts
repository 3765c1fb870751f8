/** Paid completions, on a sandbox: real transactions and signatures, play money. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { SvcClient, serve } from '@svc/sdk'
import { startSandbox } from '@svc/sdk/sandbox'
import { agentFor } from '../src/agent.ts'
import { type Model, modelFrom } from '../src/model.ts'
import { offlineModel } from '../src/offline-model.ts'

async function stage(t: TestContext, model: Model) {
  const sandbox = await startSandbox()
  const { facilitatorUrl, algodUrl, seller, wallet } = sandbox
  const server = serve(agentFor({ payTo: seller.address, network: 'testnet', model }), {
    port: 0,
    facilitatorUrl,
    algodUrl,
    handleSignals: false,
    onReady: () => {},
    onShutdown: () => {},
  })
  await once(server, 'listening')
  t.after(async () => {
    await server.shutdown()
    await sandbox.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/complete`,
    client: new SvcClient({
      mnemonic: wallet.mnemonic,
      network: 'testnet',
      algodUrl,
      maxPrice: '$0.10',
      maxPerDay: '$1',
      retry: false,
    }),
    earned: () => sandbox.balance(seller.address).usdc,
  }
}

test('the price follows the tokens that are asked for', async t => {
  const { url, client, earned } = await stage(t, offlineModel)
  const { data } = await client.call<{ text: string }>(url, { prompt: 'Tell me all.', tokens: 4 })
  assert.equal(data.text.split(' ').length, 4)
  assert.equal(earned(), 1_080n)
  await client.call(url, { prompt: 'Tell me all.', tokens: 1_000 })
  assert.equal(earned(), 1_080n + 21_000n)
})

test('on a balance, a call costs what its answer took', async t => {
  const { url, client, earned } = await stage(t, offlineModel)
  await client.topUp(new URL(url).origin, '$1')
  const { data } = await client.call<{ text: string }>(url, { prompt: 'Tell me all.' })
  const [held] = await client.balances()
  assert.equal(held!.left, String(1_000_000 - 1_000 - Math.ceil(data.text.length / 4) * 20))
  assert.equal(earned(), 1_000_000n)
})

test('a model that fails costs nothing', async t => {
  const broken = modelFrom({ MODEL_URL: 'http://127.0.0.1:9/v1' })
  const { url, client, earned } = await stage(t, broken)
  await assert.rejects(client.call(url, { prompt: 'Tell me all.' }), { code: 'call_failed', status: 502 })
  assert.equal(earned(), 0n)
})

test('an OpenAI-compatible server is asked for what was paid for', async t => {
  const asked: unknown[] = []
  const openAi = createServer(async (request, response) => {
    asked.push(request.url, request.headers.authorization, await json(request))
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Because.' } }] }))
  }).listen(0, '127.0.0.1')
  await once(openAi, 'listening')
  t.after(() => openAi.close())
  const { port } = openAi.address() as AddressInfo
  const model = modelFrom({ MODEL_URL: `http://127.0.0.1:${port}/v1`, MODEL_NAME: 'tiny', MODEL_KEY: 'k' })
  const { url, client } = await stage(t, model)
  const { data } = await client.call(url, { prompt: 'Why?', tokens: 10 })
  assert.deepEqual(data, { text: 'Because.', model: 'tiny' })
  assert.deepEqual(asked, [
    '/v1/chat/completions',
    'Bearer k',
    { model: 'tiny', max_tokens: 10, messages: [{ role: 'user', content: 'Why?' }] },
  ])
})

test('nobody is sold the built-in model for real', () => {
  assert.throws(() => modelFrom({}), /MODEL_URL/)
  assert.equal(modelFrom({ SVC_SANDBOX: 'http://127.0.0.1:4402' }).name, 'offline')
})
