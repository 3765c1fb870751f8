/** Proofs of payers that are refused, each by its code, before anything is held, through every door; and what a good one is compared with. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { EVERY_DOOR, messageIn, messageOf, post, rpc, type TestDoor } from '../support/doors.js'
import { HOME, type OwnedSeller, ownershipWorld } from '../support/ownership.js'
import { type ProofFields, type ProofHeader, proofHeader, proofIn, proving } from '../support/payer-proof.js'
import { type PaymentHeader, signedIn, signFor } from '../support/seller.js'

const PRICE = 10_000n
const MINUTE_MS = 60_000
const ASKED = { skill: 'work', input: { text: 'mine' } }
const OTHER_TESTNET = `algorand:${'A'.repeat(32)}`

const world = ownershipWorld()
let runs = 0
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) })

async function opened(options: Parameters<typeof world.open>[1] = {}) {
  runs = 0
  const seller = await world.open([work], options)
  const owner = world.payer()
  const payment = await signFor(seller, `${seller.url}/work`, { account: owner.label, body: ASKED.input })
  const before = world.received()
  return { seller, owner, payment, charged: () => [runs, world.received() - before] as const }
}

interface Made {
  readonly seller: OwnedSeller
  readonly payment: PaymentHeader
  proof(over?: Partial<ProofFields>): ProofHeader
}

const at = (ms: number) => new Date(Date.now() + ms).toISOString()
const changed = (made: Made, over: object) => proofHeader({ ...proofIn(made.proof()), ...over })

/** The proof is good but for one thing, and signed with it where it is part of the text. */
const REFUSED: Readonly<Record<string, readonly [make: (made: Made) => ProofHeader, code: string]>> = {
  'for another host': [({ proof }) => proof({ domain: 'other.example' }), 'domain_mismatch'],
  'for another port': [({ proof }) => proof({ domain: '127.0.0.1:1' }), 'domain_mismatch'],
  'for another origin': [({ proof }) => proof({ uri: 'http://other.example/work' }), 'uri_mismatch'],
  'without a URL': [({ proof }) => proof({ uri: 'here' }), 'uri_mismatch'],
  'of another account': [({ seller, payment }) => proving(world.payer(), seller.url, payment), 'request'],
  'for another payment': [({ proof }) => proof({ requestId: 'A'.repeat(52) }), 'request'],
  'without a time': [({ proof }) => proof({ issuedAt: 'today' }), 'issued_at'],
  'six minutes old': [({ proof }) => proof({ issuedAt: at(-6 * MINUTE_MS) }), 'issued_at_too_old'],
  'of the future': [({ proof }) => proof({ issuedAt: at(2 * MINUTE_MS) }), 'issued_at_in_future'],
  'whose end is no time': [({ proof }) => proof({ expirationTime: 'soon' }), 'expiration_time'],
  'that has ended': [({ proof }) => proof({ expirationTime: at(-1_000) }), 'expired'],
  'whose beginning is no time': [({ proof }) => proof({ notBefore: 'soon' }), 'not_before'],
  'that has not begun': [({ proof }) => proof({ notBefore: at(2 * MINUTE_MS) }), 'not_yet_valid'],
  'with a short nonce': [({ proof }) => proof({ nonce: 'short' }), 'nonce'],
  'with a nonce of other characters': [({ proof }) => proof({ nonce: 'c0ffee-c0ffee-c0ffee' }), 'nonce'],
  'whose text was changed': [made => changed(made, { nonce: 'f00df00df00df00d' }), 'signature'],
  'whose signature is of zeros': [
    made => changed(made, { signature: Buffer.alloc(64).toString('base64') }),
    'signature',
  ],
  'whose signature is short': [made => changed(made, { signature: 'AAAA' }), 'malformed_signature'],
  'of another version': [({ proof }) => proof({ version: '2' }), 'malformed_signature'],
  'of another type': [({ proof }) => proof({ type: 'eip191' }), 'malformed_signature'],
  'with resources': [made => changed(made, { resources: [] }), 'malformed_signature'],
  'with a statement': [made => changed(made, { statement: 'hello' }), 'malformed_signature'],
  'that is a list': [() => proofHeader([]), 'malformed_signature'],
  'that is no JSON': [
    () => ({ 'sign-in-with-x': Buffer.from('{').toString('base64') }),
    'malformed_signature',
  ],
  'that is too long': [made => changed(made, { uri: 'x'.repeat(9_000) }), 'malformed_signature'],
  ...Object.fromEntries(
    (['domain', 'address', 'uri', 'chainId', 'nonce', 'issuedAt', 'requestId', 'notBefore'] as const).map(
      field => [
        `with a line break in ${field}`,
        [
          ({ proof }: Made) => proof({ [field]: `${proofIn(proof())[field] ?? at(0)}\nRequest ID: x` }),
          'malformed_signature',
        ] as const,
      ],
    ),
  ),
}

describe.each(Object.entries(EVERY_DOOR))('through %s', (_, door) => {
  it('a proof that is not good for anything is refused beside a good payment, which stays as it was', async () => {
    const { seller, owner, payment, charged } = await opened()
    const proof = (over?: Partial<ProofFields>) => proving(owner, seller.url, payment, over)
    for (const [what, [make, code]] of Object.entries(REFUSED)) {
      const headers = { ...payment, ...make({ seller, payment, proof }) }
      const told = await door(seller.url, { ...ASKED, headers })
      expect([what, told.code]).toEqual([what, `invalid_siwx_${code}`])
      expect(told.problem!.message).toContain('You were not charged')
    }
    expect(charged()).toEqual([0, 0n])
    expect(await door(seller.url, { ...ASKED, headers: payment })).toMatchObject({ code: 'ok' })
    // It is refused as well where it would have opened an answer.
    for (const [what, [make, code]] of Object.entries(REFUSED)) {
      const headers = { ...payment, ...make({ seller, payment, proof }) }
      expect([what, (await door(seller.url, { ...ASKED, headers })).code]).toEqual([
        what,
        `invalid_siwx_${code}`,
      ])
    }
    expect(await door(seller.url, { ...ASKED, headers: { ...payment, ...proof() } })).toMatchObject({
      code: 'ok',
      replayed: true,
    })
    expect(charged()).toEqual([1, PRICE])
  })

  it('one for a chain that was not declared counts as absent', async () => {
    const { seller, owner, payment, charged } = await opened()
    const proof = proving(owner, seller.url, payment, { chainId: OTHER_TESTNET, domain: 'other.example' })
    const ask = () => door(seller.url, { ...ASKED, headers: { ...payment, ...proof } })
    expect((await ask()).code).toBe('ok')
    expect((await ask()).code).toBe('payment_spent')
    expect(charged()).toEqual([1, PRICE])
  })

  it('one without a payment is for no payment', async () => {
    const { seller, owner, payment, charged } = await opened()
    const headers = proving(owner, seller.url, payment)
    expect((await door(seller.url, { ...ASKED, headers })).code).toBe('invalid_siwx_request')
    expect(charged()).toEqual([0, 0n])
  })

  it('one beside a good fresh payment changes nothing: the call is charged once', async () => {
    const { seller, owner, payment, charged } = await opened()
    const headers = { ...payment, ...proving(owner, seller.url, payment) }
    expect(await door(seller.url, { ...ASKED, headers })).toMatchObject({ code: 'ok', replayed: false })
    // It can be sent again for five minutes, and opens the same each time.
    for (let again = 0; again < 2; again++)
      expect(await door(seller.url, { ...ASKED, headers })).toMatchObject({
        replayed: true,
        data: { run: 1 },
      })
    expect(charged()).toEqual([1, PRICE])
  })

  it('made for one seller, it is refused by another', async () => {
    const one = await opened()
    const other = await opened()
    const proof = proving(other.owner, one.seller.url, other.payment)
    expect((await door(other.seller.url, { ...ASKED, headers: { ...other.payment, ...proof } })).code).toBe(
      'invalid_siwx_domain_mismatch',
    )
    expect(other.charged()).toEqual([0, 0n])
  })

  it('publicUrl is the address with which it is compared', async () => {
    const { seller, owner, payment, charged } = await opened({ publicUrl: 'https://agent.example' })
    await expectBought(door, seller, payment)
    const ask = (url: string, over = {}) =>
      door(seller.url, { ...ASKED, headers: { ...payment, ...proving(owner, url, payment), ...over } })
    expect((await ask(seller.url)).code).toBe('invalid_siwx_domain_mismatch')
    const told = { 'x-forwarded-host': 'other.example', 'x-forwarded-proto': 'https' }
    expect((await ask('https://other.example', told)).code).toBe('invalid_siwx_domain_mismatch')
    expect(await ask('https://agent.example/work', told)).toMatchObject({ code: 'ok', replayed: true })
    expect(charged()).toEqual([1, PRICE])
  })

  it('behind a proxy it is compared with the address that the proxy was asked under', async () => {
    const { seller, owner, payment, charged } = await opened()
    await expectBought(door, seller, payment)
    const proof = proving(owner, 'https://agent.example:8443/work', payment)
    const ask = (proxy: object) =>
      door(seller.url, { ...ASKED, headers: { ...payment, ...proof, ...HOME, ...proxy } })
    const host = { 'x-forwarded-host': 'agent.example:8443' }
    expect((await ask({})).code).toBe('invalid_siwx_domain_mismatch')
    // Not every proxy says that its caller used https.
    expect(await ask(host)).toMatchObject({ code: 'ok', replayed: true })
    expect(await ask({ ...host, 'x-forwarded-proto': 'https' })).toMatchObject({ code: 'ok', replayed: true })
    expect(charged()).toEqual([1, PRICE])
  })
})

async function expectBought(door: TestDoor, seller: OwnedSeller, payment: PaymentHeader): Promise<void> {
  expect(await door(seller.url, { ...ASKED, headers: payment })).toMatchObject({ code: 'ok' })
}

it('what one door sold, another gives again', async () => {
  const doors = Object.values(EVERY_DOOR)
  for (const [at, sold] of doors.entries()) {
    const { seller, owner, payment, charged } = await opened()
    await expectBought(sold, seller, payment)
    const proof = proving(owner, seller.url, payment)
    for (const other of doors)
      expect([at, await other(seller.url, { ...ASKED, headers: { ...payment, ...proof } })]).toMatchObject([
        at,
        { code: 'ok', replayed: true, data: { run: 1 } },
      ])
    expect(charged()).toEqual([1, PRICE])
  }
})

it('the header counts at the doors for agents too', async () => {
  const { seller, owner, payment, charged } = await opened()
  await expectBought(EVERY_DOOR.HTTP!, seller, payment)
  const proof = proving(owner, seller.url, payment)
  const data = { kind: 'data', data: ASKED.input }
  const sent = rpc('message/send', messageOf('work', [data]))
  const answer = await messageIn(await post(`${seller.url}/a2a`, sent, { ...payment, ...proof }))
  expect(answer.result!.status.message.metadata['svc.replayed']).toBe(true)
  const _meta = { 'x402/payment': signedIn(payment) }
  const call = rpc('tools/call', { name: 'work', arguments: ASKED.input, _meta })
  const told = await messageIn(await post(`${seller.url}/mcp`, call, proof))
  expect(told.result!._meta!['svc/replayed']).toBe(true)
  expect(charged()).toEqual([1, PRICE])
})
