/** The id in a payment is a second place for the idempotency key, through every door. Ids are written by the official helper. */
import {
  appendPaymentIdentifierToExtensions,
  extractPaymentIdentifier,
  isPaymentIdentifierRequired,
  isValidPaymentId,
  PAYMENT_IDENTIFIER,
} from '@x402/extensions/payment-identifier'
import { describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { SIGN_IN_WITH_X } from '../../src/domain/sign-in-with-x.js'
import { defineEndpoint, type IdempotencyOptions } from '../../src/index.js'
import { startSandbox } from '../../src/sandbox.js'
import { DOORS, type TestDoor } from '../support/doors.js'
import { fakeFacilitator } from '../support/fake-facilitator.js'
import {
  ask,
  challengeIn,
  open,
  type PaymentHeader,
  presenting,
  receiptIn,
  type Seller,
  signedIn,
  signFor,
} from '../support/seller.js'

const http: TestDoor = async (url, { skill, input, headers }) => {
  const response = await ask(`${url}/${skill}`, { body: input, headers })
  const about = { status: response.status, headers: response.headers }
  if (response.status === 402) return { ...about, code: 'payment_required', challenge: challengeIn(response) }
  const answer = (await response.json()) as { error?: { code: string } }
  if (answer.error) return { ...about, code: answer.error.code }
  const replayed = response.headers.get('idempotency-replayed') === 'true'
  return { ...about, code: 'ok', data: answer, receipt: receiptIn(response), replayed }
}

const ALL_DOORS: Readonly<Record<string, TestDoor>> = { HTTP: http, ...DOORS }

function counted() {
  const seen = { runs: 0, keys: [] as unknown[] }
  const endpoint = (name: string) =>
    defineEndpoint({
      name,
      price: '$0.01',
      handler({ body, idempotencyKey }) {
        seen.keys.push(idempotencyKey)
        return { run: ++seen.runs, body }
      },
    })
  return { seen, endpoints: [endpoint('work'), endpoint('other')] }
}

const REPLAY: IdempotencyOptions = { onLostResponse: 'replay' }
const body = { text: 'hello' }
const asked = { skill: 'work', input: body }
const ID = 'pay_7d5d747be160e280504c099d984bcfe0'

/** The payment with an id, as the official helper writes it, or as nobody should. */
function named(payment: PaymentHeader, id: unknown): PaymentHeader {
  const payload = signedIn(payment)
  const isDeclared = payload.extensions?.[PAYMENT_IDENTIFIER] !== undefined
  if (isDeclared && typeof id === 'string' && isValidPaymentId(id))
    appendPaymentIdentifierToExtensions(payload.extensions, id)
  else payload.extensions = { [PAYMENT_IDENTIFIER]: { info: { required: false, id } } }
  return presenting(payload)
}

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const sign = (seller: Seller, account?: string) => signFor(seller, `${seller.url}/work`, { body, account })
/** A server that counts what its facilitator is asked. */
async function trusting(idempotency: IdempotencyOptions | 'off' = REPLAY) {
  const facilitator = await fakeFacilitator()
  const { seen, endpoints } = counted()
  const seller = await open(endpoints, {
    facilitatorUrl: facilitator.url,
    ...(idempotency !== 'off' && { idempotency }),
  })
  const verified = () => facilitator.count('/verify')
  return { facilitator, verified, seen, seller }
}

describe('a quote', () => {
  const quoteOf = async (idempotency?: IdempotencyOptions) => {
    const seller = await open(counted().endpoints, { idempotency })
    return challengeIn(await ask(`${seller.url}/work`, { body })).extensions ?? {}
  }

  it('declares the extension where keys count, beside what else it declares', async () => {
    const extensions = await quoteOf({})
    expect(Object.keys(extensions).sort()).toEqual(['bazaar', PAYMENT_IDENTIFIER, SIGN_IN_WITH_X])
    expect(isPaymentIdentifierRequired(extensions[PAYMENT_IDENTIFIER])).toBe(false)
    const required = await quoteOf({ required: true })
    expect(isPaymentIdentifierRequired(required[PAYMENT_IDENTIFIER])).toBe(true)
  })

  it('does not where they do not', async () => {
    expect(await quoteOf()).not.toHaveProperty(PAYMENT_IDENTIFIER)
  })
})

describe.each(Object.entries(ALL_DOORS))('%s: an id in a payment', (_, door) => {
  it('is the key: the same call is charged once and replayed, another body is refused', async () => {
    const { seen, endpoints } = counted()
    const seller = await open(endpoints, { idempotency: REPLAY })
    const first = await door(seller.url, { ...asked, headers: named(await sign(seller), ID) })
    expect(first).toMatchObject({ code: 'ok', data: { run: 1 } })
    const again = await door(seller.url, { ...asked, headers: named(await sign(seller), ID) })
    expect(again).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
    expect(again.receipt!.transaction).toBe(first.receipt!.transaction)
    const reused = await door(seller.url, {
      skill: 'work',
      input: { text: 'else' },
      headers: named(await sign(seller), ID),
    })
    expect(reused.code).toBe('idempotency_key_reuse')
    expect([seen.runs, received(seller)]).toEqual([1, 10_000n])
    expect(seen.keys).toEqual([ID])
  })

  it('has the scope of the header: one key in either place, or in both', async () => {
    const { seen, endpoints } = counted()
    const seller = await open(endpoints, { idempotency: REPLAY })
    const key = { 'idempotency-key': ID }
    const inHeader = { ...(await sign(seller)), ...key }
    expect(await door(seller.url, { ...asked, headers: inHeader })).toMatchObject({ code: 'ok' })
    for (const headers of [named(await sign(seller), ID), { ...named(await sign(seller), ID), ...key }]) {
      expect(await door(seller.url, { ...asked, headers })).toMatchObject({ code: 'ok', replayed: true })
    }
    const elsewhere = named(await signFor(seller, `${seller.url}/other`, { body }), ID)
    expect(await door(seller.url, { skill: 'other', input: body, headers: elsewhere })).toMatchObject({
      code: 'ok',
      replayed: false,
    })
    const stranger = named(await sign(seller, 'stranger'), ID)
    expect(await door(seller.url, { ...asked, headers: stranger })).toMatchObject({
      code: 'ok',
      replayed: false,
    })
    expect([seen.runs, received(seller)]).toEqual([3, 30_000n])
  })

  it('that differs from the header is refused, costs nothing, and leaves the payment free', async () => {
    const { verified, seen, seller } = await trusting()
    const payment = named(await sign(seller), ID)
    const differing = { ...payment, 'idempotency-key': `${ID}x` }
    const told = await door(seller.url, { ...asked, headers: differing })
    expect(told.code).toBe('idempotency_key_mismatch')
    expect([seen.runs, verified()]).toEqual([0, 0])
    expect((await door(seller.url, { ...asked, headers: payment })).code).toBe('ok')
    // The refused key was never taken: it still names any other call.
    const other = { ...(await sign(seller)), 'idempotency-key': `${ID}x` }
    const free = await door(seller.url, { ...asked, input: { text: 'else' }, headers: other })
    expect(free.code).toBe('ok')
  })

  it.each(['short', 'with a space in it', 'x'.repeat(129), 7, {}, [ID]])(
    'that is %j is refused, costs nothing, and leaves the payment free',
    async id => {
      const { verified, seen, seller } = await trusting()
      const payment = await sign(seller)
      const told = await door(seller.url, { ...asked, headers: named(payment, id) })
      expect(told.code).toBe('invalid_payment_identifier')
      expect([seen.runs, verified()]).toEqual([0, 0])
      expect((await door(seller.url, { ...asked, headers: payment })).code).toBe('ok')
    },
  )

  it('is demanded with a payment and not before, in either place', async () => {
    const { verified, seen, seller } = await trusting({ required: true })
    const quoted = await door(seller.url, asked)
    expect(quoted.code).toBe('payment_required')
    expect(isPaymentIdentifierRequired(quoted.challenge!.extensions![PAYMENT_IDENTIFIER])).toBe(true)
    const payment = await sign(seller)
    const told = await door(seller.url, { ...asked, headers: payment })
    expect(told.code).toBe('idempotency_key_required')
    expect([seen.runs, verified()]).toEqual([0, 0])
    expect((await door(seller.url, { ...asked, headers: named(payment, ID) })).code).toBe('ok')
    const inHeader = { ...(await sign(seller)), 'idempotency-key': 'any-key-of-theirs!' }
    expect((await door(seller.url, { ...asked, headers: inHeader })).code).toBe('ok')
  })

  it('means nothing where keys do not count', async () => {
    const { seen, seller } = await trusting('off')
    for (const id of [ID, ID, 'short']) {
      const told = await door(seller.url, { ...asked, headers: named(await sign(seller), id) })
      expect(told).toMatchObject({ code: 'ok', replayed: false })
    }
    expect(seen).toEqual({ runs: 3, keys: [undefined, undefined, undefined] })
  })
})

describe('a wrong key over HTTP', () => {
  it.each([
    ['invalid_payment_identifier', { required: true }, (payment: PaymentHeader) => named(payment, 'short')],
    ['idempotency_key_required', { required: true }, (payment: PaymentHeader) => payment],
  ] as const)('is 400 %s, without a quote', async (code, idempotency, change) => {
    const { seller } = await trusting(idempotency)
    const response = await ask(`${seller.url}/work`, { body, headers: change(await sign(seller)) })
    expect(response.status).toBe(400)
    expect(response.headers.get('payment-required')).toBeNull()
    expect(await response.json()).toMatchObject({
      error: { code, message: expect.stringMatching(/not charged/) },
    })
  })

  it('is not looked for in a request that a window covers', async () => {
    const feed = defineEndpoint({
      name: 'feed',
      subscription: { price: '$0.50', period: '1h' },
      handler: () => 1,
    })
    const seller = await open([feed], { idempotency: { required: true } })
    const payment = named(await signFor(seller, `${seller.url}/feed`), ID)
    const sold = await ask(`${seller.url}/feed`, { headers: payment })
    const key = sold.headers.get('x-svc-subscription')!
    const covered = await ask(`${seller.url}/feed`, { headers: { 'x-svc-subscription': key } })
    expect([sold.status, covered.status]).toEqual([200, 200])
  })
})

describe('our client', () => {
  async function buying(idempotency: IdempotencyOptions | undefined) {
    const sandbox = await startSandbox()
    const seller = await open(counted().endpoints, { sandbox, idempotency })
    const sent: { key: string | null; id: string | null }[] = []
    const client = new SvcClient({
      mnemonic: sandbox.wallet.mnemonic,
      network: 'testnet',
      algodUrl: sandbox.algodUrl,
      maxPrice: '$1',
      fetchImpl(input, init) {
        const headers = new Headers(init?.headers)
        const payment = headers.get('payment-signature')
        if (payment !== null) {
          const payload = signedIn({ 'payment-signature': payment })
          sent.push({ key: headers.get('idempotency-key'), id: extractPaymentIdentifier(payload) })
        }
        return fetch(input, init)
      },
    })
    const close = () => sandbox.close()
    return { client, seller, sandbox, sent, close }
  }

  it('sends its key in both places', async () => {
    const { client, seller, sent, close } = await buying({ required: true })
    await client.call(`${seller.url}/work`, body)
    await client.call(`${seller.url}/work`, body, { idempotencyKey: ID })
    expect(sent).toHaveLength(2)
    expect(sent[0]!.id).toMatch(/^[0-9a-f]{32}$/)
    expect(sent[0]!.key).toBe(sent[0]!.id)
    expect(sent[1]).toEqual({ key: ID, id: ID })
    await close()
  })

  it('sends a key that is not allowed as an id in the header alone', async () => {
    const { client, seller, sent, close } = await buying({ required: true })
    await client.call(`${seller.url}/work`, body, { idempotencyKey: 'order/5!' })
    expect(sent).toEqual([{ key: 'order/5!', id: null }])
    await close()
  })

  it('sends no id to a seller that does not declare the extension', async () => {
    const { client, seller, sent, close } = await buying(undefined)
    await client.call(`${seller.url}/work`, body, { idempotencyKey: ID })
    expect(sent).toEqual([{ key: ID, id: null }])
    await close()
  })
})
