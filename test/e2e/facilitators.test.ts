/**
 * Several facilitators, of which the second is hostile: it finds every payment valid, says that it settled each, and moves
 * nothing. The seller chooses the facilitator, whatever a payer writes into its payment.
 */
import { beforeEach, expect, it } from 'vitest'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { type FakeFacilitator, fakeFacilitator, json, status } from '../support/fake-facilitator.js'
import { LONG_ID } from '../support/official.js'
import { ask, challengeIn, open, presenting, type Seller, signQuote } from '../support/seller.js'

let runs = 0
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) })
beforeEach(() => {
  runs = 0
})

interface Market {
  readonly sandbox: Sandbox
  readonly hostile: FakeFacilitator
  readonly sponsor: string
}

async function market(): Promise<Market> {
  const sandbox = closing(await startSandbox())
  const sponsor = sandbox.accounts('hostile sponsor').address
  const kind = { x402Version: 2, scheme: 'exact', network: LONG_ID, extra: { feePayer: sponsor } }
  const hostile = await fakeFacilitator({
    '/supported': json({ kinds: [kind], extensions: [], signers: {} }),
    '/verify': json({ isValid: true }),
    '/settle': json({ success: true, transaction: '', network: LONG_ID }),
  })
  return { sandbox, hostile, sponsor }
}

/** The list of another deploy: who has one facilitator alone writes no sponsors. */
const reversed = ({ sandbox, hostile }: Market) => [hostile.url, sandbox.facilitatorUrl]

const selling = ({ sandbox, hostile }: Market, options: Partial<ServeOptions> = {}) =>
  open([work], { sandbox, facilitatorUrl: [sandbox.facilitatorUrl, hostile.url], ...options })

/** What the seller quotes, with another sponsor of the fee. */
async function quoteOf(seller: Seller, feePayer?: string) {
  const challenge = challengeIn(await ask(`${seller.url}/work`))
  if (feePayer === undefined) return challenge
  const accepts = challenge.accepts.map(entry => ({ ...entry, extra: { ...entry.extra, feePayer } }))
  return { ...challenge, accepts }
}

const sponsorOf = async (seller: Seller) => (await quoteOf(seller)).accepts[0]!.extra.feePayer
const received = ({ sandbox }: Market) => sandbox.balance(sandbox.seller.address).usdc

it('a payment that names the sponsor of a hostile backup runs nothing, and nobody is asked about it', async () => {
  const here = await market()
  const seller = await selling(here)
  const payment = await signQuote(seller, await quoteOf(seller, here.sponsor))
  const refused = await ask(`${seller.url}/work`, { headers: presenting(payment) })
  expect(refused.status).toBe(402)
  expect(challengeIn(refused).error).toContain('not quoted now')
  expect(challengeIn(refused).accepts[0]!.extra.feePayer).toBe(here.sandbox.feePayer)
  expect([runs, here.hostile.count('/verify'), here.hostile.count('/settle')]).toEqual([0, 0, 0])
})

it('nor does one that only says so beside the group, and it is settled where it was quoted', async () => {
  const here = await market()
  const seller = await selling(here)
  const payment = await signQuote(seller, await quoteOf(seller))
  const accepted = payment.accepted as { readonly extra: object }
  const said = { ...payment, accepted: { ...accepted, extra: { ...accepted.extra, feePayer: here.sponsor } } }
  expect((await ask(`${seller.url}/work`, { headers: presenting(said) })).status).toBe(200)
  expect([runs, received(here), here.hostile.count('/verify')]).toEqual([1, 10_000n, 0])
})

it('nor does one that the first facilitator fails on', async () => {
  const here = await market()
  const seller = await selling(here)
  const { accepts, ...rest } = await quoteOf(seller)
  const unsponsored = accepts.map(({ extra: { feePayer: _, ...extra }, ...entry }) => ({ ...entry, extra }))
  const payment = await signQuote(seller, { ...rest, accepts: unsponsored })
  here.sandbox.faults.set('verify', 'reset')
  expect((await ask(`${seller.url}/work`, { headers: presenting(payment) })).status).toBe(503)
  expect([runs, here.hostile.count('/verify')]).toEqual([0, 0])
  here.sandbox.faults.clear()
  expect((await ask(`${seller.url}/work`, { headers: presenting(payment) })).status).toBe(200)
  expect([runs, received(here), here.hostile.count('/verify')]).toEqual([1, 10_000n, 0])
})

it('a payment for a quote of another replica, or of one that has stopped, goes where that quote said', async () => {
  const here = await market()
  const stores = { subscriptions: memorySubscriptions() }
  const other = await selling(here, { stores, facilitatorUrl: reversed(here) })
  const seller = await selling(here, { stores })
  expect(await sponsorOf(seller)).toBe(here.sandbox.feePayer)
  const payment = await signQuote(other, await quoteOf(other))
  await other.close()
  expect((await ask(`${seller.url}/work`, { headers: presenting(payment) })).status).toBe(200)
  expect([here.hostile.count('/verify'), here.hostile.count('/settle')]).toEqual([1, 1])
})

it('another store, or another seller in the same one, says nothing about quotes', async () => {
  const here = await market()
  const stores = { subscriptions: memorySubscriptions() }
  const stranger = here.sandbox.accounts('another seller').address
  const others = [
    await selling(here, { facilitatorUrl: reversed(here) }),
    await selling(here, { facilitatorUrl: reversed(here), stores, payTo: stranger }),
  ]
  for (const other of others) expect(await sponsorOf(other)).toBe(here.sponsor)
  const seller = await selling(here, { stores })
  const payment = await signQuote(seller, await quoteOf(seller, here.sponsor))
  expect((await ask(`${seller.url}/work`, { headers: presenting(payment) })).status).toBe(402)
  expect([runs, here.hostile.count('/verify')]).toEqual([0, 0])
})

it('five worthless payments that the host of the facilitator refuses do not stop the next sale', async () => {
  const { sandbox, hostile } = await market()
  hostile.replies['/verify'] = status(413)
  const seller = await open([work], { sandbox, facilitatorUrl: hostile.url })
  const header = async () => presenting(await signQuote(seller, await quoteOf(seller)))
  for (let payment = 0; payment < 5; payment++)
    expect((await ask(`${seller.url}/work`, { headers: await header() })).status).toBe(503)
  hostile.replies['/verify'] = json({ isValid: true })
  expect((await ask(`${seller.url}/work`, { headers: await header() })).status).toBe(200)
})
