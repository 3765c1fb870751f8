/** Numbers that change on the way: what is checked, hashed and charged is what the handler sees, at every door. */
import { expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { post } from '../support/doors.js'
import { ask, open, type Seller, signFor } from '../support/seller.js'

const seen: unknown[] = []
const any = defineEndpoint({
  name: 'any',
  price: '$0.01',
  handler({ body }) {
    seen.push(body)
    return { seen: seen.length }
  },
})
const paid = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc

it('a key is not shared by 1e999 and null: the first is 400, uncharged', async () => {
  const seller = await open([any], { idempotency: {} })
  const url = `${seller.url}/any`
  const keyed = async () => ({
    ...(await signFor(seller, url)),
    'idempotency-key': 'a-random-key-that-cannot-be-guessed',
  })
  seen.length = 0
  const refused = await ask(url, { body: '{"n":1e999}', headers: await keyed() })
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { code: 'invalid_json', message: "The number at '/n' is too large to be one." } },
  ])
  expect((await ask(url, { body: '{"n":null}', headers: await keyed() })).status).toBe(200)
  expect(seen).toEqual([{ n: null }])
  expect(paid(seller)).toBe(10_000n)
})

it('two spellings of one value are one body, and it is the value that the handler saw', async () => {
  const seller = await open([any], { idempotency: {} })
  const url = `${seller.url}/any`
  seen.length = 0
  const body = '{"big":9007199254740993,"zero":-0,"twice":1,"twice":2,"tiny":-1e-999}'
  const same = '{"twice":2,"tiny":0,"zero":0,"big":9007199254740992}'
  const key = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }
  await ask(url, { body, headers: { ...(await signFor(seller, url)), ...key } })
  const again = await ask(url, { body: same, headers: { ...(await signFor(seller, url)), ...key } })
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
  expect(seen).toEqual([{ big: 9007199254740992, zero: 0, twice: 2, tiny: 0 }])
  expect(paid(seller)).toBe(10_000n)
})

it('data parts of A2A and arguments of MCP tools are held to the same', async () => {
  const seller = await open([any])
  seen.length = 0
  const { 'payment-signature': header } = await signFor(seller, `${seller.url}/any`)
  const message = '{"role":"user","parts":[{"kind":"data","data":{"n":1e999}}]}'
  const meta = Buffer.from(header, 'base64').toString()
  const bodies = {
    a2a: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":${message}}}`,
    mcp: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any","arguments":{"n":1e999},"_meta":{"x402/payment":${meta}}}}`,
  }
  for (const [path, body] of Object.entries(bodies)) {
    const response = await post(`${seller.url}/${path}`, body, { 'payment-signature': header })
    expect(response.status).toBe(400)
    const { error } = (await response.json()) as { error: object }
    expect(error).toMatchObject({
      code: -32700,
      message: expect.stringContaining('too large'),
      data: { code: 'invalid_json' },
    })
  }
  expect(seen).toEqual([])
  expect(paid(seller)).toBe(0n)
})
