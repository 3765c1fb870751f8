/** Endpoints that take text or bytes: what their handlers and prices get, and what their keys cover. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { defineEndpoint, type EndpointDef } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { messageOf, rpc } from '../support/doors.js'
import { ask, challengeIn, open, signFor } from '../support/seller.js'

const PRICE = 10_000n
const KEY = 'a-random-key-that-no-stranger-guesses'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const seen: unknown[] = []
const text = defineEndpoint({
  name: 'text',
  bodyType: 'text',
  price: ({ body }) => (body.length > 5 ? '$0.02' : '$0.01'),
  handler({ body }) {
    seen.push(body)
    return body.toUpperCase()
  },
})
const bytes = defineEndpoint({
  name: 'bytes',
  bodyType: 'bytes',
  price: '$0.01',
  handler({ body }) {
    seen.push(body)
    return body.slice().reverse()
  },
})

async function selling(endpoint: EndpointDef, options: object = {}) {
  seen.length = 0
  const usdc = async () => (await sandbox.balance(sandbox.seller.address)).usdc!
  const before = await usdc()
  const seller = await open([endpoint], { sandbox, ...options })
  const client = new SvcClient({
    mnemonic: sandbox.wallet.mnemonic,
    network: 'testnet',
    algodUrl: sandbox.algodUrl,
  })
  return {
    seller,
    client,
    url: `${seller.url}/${endpoint.name}`,
    earned: async () => (await usdc()) - before,
  }
}

const raw = (url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body, headers })

describe('an endpoint for text', () => {
  it('gives its handler and its price the text, whatever its content type says', async () => {
    const { client, url, earned } = await selling(text)
    const { data } = await client.call(url, 'grüße {"', { headers: { 'content-type': 'text/plain' } })
    expect([data, seen, await earned()]).toEqual(['GRÜSSE {"', ['grüße {"'], 2n * PRICE])
  })

  it('refuses what is no text, before payment', async () => {
    const { url, earned } = await selling(text)
    const answer = await raw(url, new Uint8Array([0xff, 0xfe, 0x00]))
    const { error } = (await answer.json()) as { error: { code: string } }
    expect([answer.status, error.code, await earned()]).toEqual([400, 'invalid_text', 0n])
  })

  it('quotes a probe, and publishes what it takes', async () => {
    const { seller, url } = await selling(text)
    const probe = await raw(url, '')
    expect([probe.status, challengeIn(probe).accepts[0]!.amount]).toEqual([402, String(PRICE)])
    expect(challengeIn(probe).extensions).toMatchObject({ bazaar: { info: { input: { bodyType: 'text' } } } })
    const documents = await Promise.all(
      ['/.well-known/svc.json', '/openapi.json'].map(async path =>
        (await ask(seller.url + path, { method: 'GET' })).text(),
      ),
    )
    expect(documents[0]).toContain('"bodyType":"text"')
    expect(documents[1]).toContain('"text/plain"')
  })

  it('reads a text from A2A', async () => {
    const { seller, url, earned } = await selling(text)
    const payment = await signFor(seller, url, { body: 'hello' })
    await ask(`${seller.url}/a2a`, {
      body: rpc('message/send', messageOf('text', [{ kind: 'text', text: 'hello' }])),
      headers: payment,
    })
    expect([seen, await earned()]).toEqual([['hello'], PRICE])
  })
})

describe('an endpoint for bytes', () => {
  it('gives its handler the very bytes', async () => {
    const { client, url, earned } = await selling(bytes)
    const sent = Uint8Array.from({ length: 256 }, (_, at) => at)
    const { data } = await client.call(url, sent)
    expect(new Uint8Array(data as Uint8Array)).toEqual(sent.slice().reverse())
    expect(seen).toEqual([sent])
    expect(await earned()).toBe(PRICE)
  })

  it('refuses more bytes than it reads', async () => {
    const { url } = await selling(bytes, { maxBodyBytes: 10 })
    expect((await raw(url, new Uint8Array(11))).status).toBe(413)
  })

  it('covers the bytes by its keys', async () => {
    const { seller, url, earned } = await selling(bytes, { idempotency: {} })
    const payment = await signFor(seller, url)
    const headers = { ...payment, 'idempotency-key': KEY }
    const first = await raw(url, new Uint8Array([1, 2, 3]), headers)
    expect(new Uint8Array(await first.arrayBuffer())).toEqual(new Uint8Array([3, 2, 1]))
    await expect
      .poll(async () =>
        (await raw(url, new Uint8Array([1, 2, 3]), headers)).headers.get('idempotency-replayed'),
      )
      .toBe('true')
    const other = await raw(url, new Uint8Array([1, 2, 4]), headers)
    expect((await other.json()) as object).toMatchObject({ error: { code: 'idempotency_key_reuse' } })
    expect([seen.length, await earned()]).toEqual([1, PRICE])
  })
})

describe('the definition', () => {
  const options = { name: 'work', price: '$0.01', handler: () => 'x' } as const
  it.each<[string, object, string]>([
    ['of a type that there is not', { bodyType: 'form-data' }, 'bodyType is json or text or bytes'],
    ['of a GET', { bodyType: 'text', method: 'GET' }, 'a GET has no body'],
    ['with a schema', { bodyType: 'bytes', input: { type: 'object' } }, 'input describes JSON'],
  ])('%s is refused', (_, more, why) => {
    expect(() => defineEndpoint({ ...options, ...more } as never)).toThrow(why)
  })
})
