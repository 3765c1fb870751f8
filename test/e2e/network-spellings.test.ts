/** A quote offers two spellings of its network's id. What is paid, kept and told is one thing, whichever the payer took. */
import { describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { CAIP2, MAINNET, TESTNET } from '../../src/domain/network.js'
import { defineEndpoint, type EndedCall } from '../../src/index.js'
import { gated } from '../support/gate.js'
import {
  type Ask,
  ask,
  challengeIn,
  open,
  type PaymentHeader,
  presenting,
  receiptIn,
  type Seller,
  signedIn,
} from '../support/seller.js'

const SHORT = CAIP2.testnet
const WHOLE = TESTNET.wholeHashId
const PRICE = 10_000n
const KEY = { 'idempotency-key': 'one-order-of-mine-4711-and-no-other' }

let runs = 0
const work = defineEndpoint({
  name: 'work',
  price: '$0.01',
  handler: () => ({ run: ++runs }),
})
const units = defineEndpoint({
  name: 'units',
  price: ({ body }) => `$0.0${(body as { units?: number }).units ?? 1}`,
  handler: () => ({ run: ++runs }),
})
const feed = defineEndpoint({
  name: 'feed',
  subscription: { price: '$0.05', period: '1d' },
  handler: () => ({ run: ++runs }),
})

const codeIn = async (answer: Response) => ((await answer.json()) as { error: { code: string } }).error.code
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc ?? 0n

/** Payments of one quote, each for one of its entries. */
async function signed(seller: Seller, path: string, spellings: readonly string[], probe: Ask = {}) {
  const challenge = challengeIn(await ask(seller.url + path, probe))
  const signer = algorandPaymentSigner({
    key: signingKey(seller.sandbox.wallet.mnemonic),
    network: TESTNET,
    algod: algodClient({ url: seller.sandbox.algodUrl, nodeTimeoutMs: 20_000 }),
  })
  const payments: PaymentHeader[] = []
  for (const network of spellings) {
    const accepted = challenge.accepts.find(entry => entry.network === network)!
    payments.push(presenting((await signer.sign(challenge, accepted)).payload))
  }
  return payments
}

/** The same payment as one for the other entry. */
function respelt(payment: PaymentHeader, network: string): PaymentHeader {
  const payload = signedIn(payment)
  return presenting({ ...payload, accepted: { ...payload.accepted, network } })
}

/** A report of a call without what differs between any two calls. */
function told({ id, traceId, txId, startedMs, ms, timingsMs, window, windowEndsMs, ...rest }: EndedCall) {
  return rest
}

describe('a quote', () => {
  it.each([
    { sold: 'a fixed price', path: '/work', amount: PRICE },
    { sold: 'a price of the call', path: '/units', body: { units: 3 }, amount: 30_000n },
    { sold: 'a window', path: '/feed', amount: 50_000n },
  ])('of $sold is paid in either spelling, and the receipt speaks it', async ({ path, body, amount }) => {
    const seller = await open([work, units, feed])
    const { accepts } = challengeIn(await ask(seller.url + path, { body }))
    const { network: _, ...terms } = accepts[0]!
    expect(accepts).toEqual([
      { ...terms, network: SHORT },
      { ...terms, network: WHOLE },
    ])
    expect(terms).toMatchObject({ amount: String(amount), extra: { feePayer: seller.sandbox.feePayer } })
    for (const network of [SHORT, WHOLE]) {
      const [payment] = await signed(seller, path, [network], { body })
      const before = received(seller)
      const answer = await ask(seller.url + path, { body, headers: payment })
      expect([answer.status, received(seller) - before]).toEqual([200, amount])
      const receipt = receiptIn(answer)
      expect(receipt).toMatchObject({ success: true, network, amount: String(amount) })
      expect(seller.sandbox.transactions().at(-1)!.txId).toBe(receipt.transaction)
    }
    const [one, other] = seller.ended.filter(({ charged }) => charged === 'yes')
    expect(told(other!)).toEqual(told(one!))
  })

  it('of a window sells a key that opens it, in either spelling', async () => {
    const seller = await open([feed])
    for (const network of [SHORT, WHOLE]) {
      const [headers] = await signed(seller, '/feed', [network])
      const sold = await ask(`${seller.url}/feed`, { headers })
      const key = { 'x-svc-subscription': sold.headers.get('x-svc-subscription')! }
      expect((await ask(`${seller.url}/feed`, { headers: key })).status).toBe(200)
    }
    expect(received(seller)).toBe(100_000n)
  })

  it('offers the spelling of CAIP-2 alone under networkIds "short", and takes both', async () => {
    const seller = await open([work], { advanced: { networkIds: 'short' } })
    const { accepts } = challengeIn(await ask(`${seller.url}/work`))
    expect(accepts.map(({ network }) => network)).toEqual([SHORT])
    const [payment] = await signed(seller, '/work', [SHORT])
    const answer = await ask(`${seller.url}/work`, { headers: respelt(payment!, WHOLE) })
    expect([answer.status, receiptIn(answer).network, received(seller)]).toEqual([200, WHOLE, PRICE])
  })

  it('is repeated whole where a payment in either spelling is refused', async () => {
    const seller = await open([work])
    seller.sandbox.freeze(seller.sandbox.wallet.address, true)
    const quoted = challengeIn(await ask(`${seller.url}/work`)).accepts
    for (const payment of await signed(seller, '/work', [SHORT, WHOLE])) {
      const refused = await ask(`${seller.url}/work`, { headers: payment })
      expect([refused.status, challengeIn(refused).accepts]).toEqual([402, quoted])
    }
    expect(received(seller)).toBe(0n)
  })

  it('is not met in a third spelling, or on the other network', async () => {
    const seller = await open([work])
    const [payment] = await signed(seller, '/work', [SHORT])
    const before = runs
    for (const network of [MAINNET.wholeHashId, `${WHOLE} `, WHOLE.slice(0, -1), 'algorand:*']) {
      const refused = await ask(`${seller.url}/work`, { headers: respelt(payment!, network) })
      expect(refused.status).toBe(402)
      expect(challengeIn(refused).accepts.map(entry => entry.network)).toEqual([SHORT, WHOLE])
    }
    expect([runs - before, received(seller)]).toEqual([0, 0n])
  })

  it('is offered in no other way', async () => {
    await expect(open([work], { advanced: { networkIds: 'long' as never } })).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    )
  })
})

describe('one key, and both entries of one quote paid', () => {
  it.each([
    [SHORT, WHOLE],
    [WHOLE, SHORT],
  ])('%s, then the other: charged once, and the first receipt again', async (first, second) => {
    const seller = await open([work], { idempotency: {} })
    const [one, other] = await signed(seller, '/work', [first, second])
    const answer = await ask(`${seller.url}/work`, { headers: { ...one, ...KEY } })
    const again = await ask(`${seller.url}/work`, { headers: { ...other, ...KEY } })
    expect([answer.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([
      200,
      200,
      'true',
    ])
    expect(await again.json()).toEqual(await answer.json())
    expect(receiptIn(again)).toEqual(receiptIn(answer))
    expect(receiptIn(again).network).toBe(first)
    expect(received(seller)).toBe(PRICE)
  })

  it('at once: one is at work, the other waits, and one is charged', async () => {
    const slow = gated()
    const seller = await open([slow.endpoint], { idempotency: {} })
    const path = `/${slow.endpoint.name}`
    const [one, other] = await signed(seller, path, [SHORT, WHOLE])
    const first = ask(seller.url + path, { headers: { ...one, ...KEY } })
    await slow.entered()
    const meanwhile = await ask(seller.url + path, { headers: { ...other, ...KEY } })
    expect([meanwhile.status, await codeIn(meanwhile)]).toEqual([409, 'idempotency_in_progress'])
    slow.open()
    expect((await first).status).toBe(200)
    const again = await ask(seller.url + path, { headers: { ...other, ...KEY } })
    expect([again.status, receiptIn(again).network]).toEqual([200, SHORT])
    expect(received(seller)).toBe(PRICE)
  })

  it('and another body under it is another call, in either spelling', async () => {
    const seller = await open([work], { idempotency: {} })
    const [one, other] = await signed(seller, '/work', [SHORT, WHOLE])
    await ask(`${seller.url}/work`, { headers: { ...one, ...KEY }, body: { n: 1 } })
    const reused = await ask(`${seller.url}/work`, { headers: { ...other, ...KEY }, body: { n: 2 } })
    expect([reused.status, await codeIn(reused)]).toEqual([409, 'idempotency_key_reuse'])
    expect(received(seller)).toBe(PRICE)
  })
})

describe('one payment in both spellings', () => {
  it('is delivered for once', async () => {
    const seller = await open([work])
    const [payment] = await signed(seller, '/work', [SHORT])
    const before = runs
    const answers = await Promise.all(
      [payment!, respelt(payment!, WHOLE)].map(headers => ask(`${seller.url}/work`, { headers })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const later = await ask(`${seller.url}/work`, { headers: respelt(payment!, WHOLE) })
    expect([later.status, await codeIn(later)]).toEqual([409, 'payment_spent'])
    expect([runs - before, received(seller)]).toEqual([1, PRICE])
  })
})
