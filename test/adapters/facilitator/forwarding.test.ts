import { expect, test } from 'vitest'
import { ALGORAND_MAINNET } from '../../../src/domain/network.js'
import { hang, json, status } from '../../support/fake-facilitator.js'
import { FULL, listing, newPayment, REQUIREMENTS, SHORT, start, VECTORS } from './setup.js'

const FORMS = [SHORT, FULL]
const COMBINATIONS = FORMS.flatMap(listed =>
  FORMS.flatMap(quoted => FORMS.map(accepted => ({ listed, quoted, accepted }))),
)

test.each(COMBINATIONS)('$accepted paid against $quoted is asked about as $listed', async forms => {
  const { fake, facilitator } = await start({ '/supported': listing(forms.listed) })
  const payment = newPayment()
  const accepted = { ...(payment.accepted as object), network: forms.accepted, note: 'kept' }
  const extensions = { bazaar: { info: { input: { type: 'http' } } }, unheardOf: [null, 1] }
  const sent = { ...payment, accepted, extensions, unknownKey: 'kept' }
  const before = structuredClone(sent)
  await facilitator.verify(sent, { ...REQUIREMENTS, network: forms.quoted })
  await facilitator.settle(sent, { ...REQUIREMENTS, network: forms.quoted })
  const body = {
    x402Version: 2,
    paymentPayload: { ...sent, accepted: { ...accepted, network: forms.listed } },
    paymentRequirements: { ...REQUIREMENTS, network: forms.listed },
  }
  expect(fake.asked.slice(1)).toEqual([
    { path: '/verify', method: 'POST', body },
    { path: '/settle', method: 'POST', body },
  ])
  expect(sent).toEqual(before)
})

test('the key of the payer’s answer stays here: the id of a payment does not go out, and the rest of its extension does', async () => {
  const { fake, facilitator } = await start({ '/supported': listing(SHORT) })
  const info = { required: true, id: 'a-key-that-nobody-guesses', more: [1] }
  const identifier = { info, schema: { type: 'object' } }
  const sent = { ...newPayment(), extensions: { 'payment-identifier': identifier, bazaar: { info: 1 } } }
  const before = structuredClone(sent)
  await facilitator.verify(sent, REQUIREMENTS)
  await facilitator.settle(sent, REQUIREMENTS)
  const nameless = { ...identifier, info: { required: true, more: [1] } }
  const extensions = { 'payment-identifier': nameless, bazaar: { info: 1 } }
  const bodies = fake.asked.slice(1).map(({ body }) => body as { paymentPayload: object })
  expect(bodies.map(({ paymentPayload }) => paymentPayload)).toEqual([
    expect.objectContaining({ extensions }),
    expect.objectContaining({ extensions }),
  ])
  expect(JSON.stringify(bodies)).not.toContain(info.id)
  expect(sent).toEqual(before)
})

test.each(VECTORS.filter(({ paymentPayload }) => FORMS.includes(paymentPayload.accepted.network)))(
  'the body is the one that the official server sends: $name',
  async ({ paymentPayload, facilitatorBody }) => {
    const { fake, facilitator } = await start({ '/supported': listing(paymentPayload.accepted.network) })
    await facilitator.verify(paymentPayload, facilitatorBody.paymentRequirements)
    expect(fake.asked.at(-1)?.body).toEqual(facilitatorBody)
  },
)

test.each([
  ['of another network', { network: ALGORAND_MAINNET }],
  ['of an unknown network', { network: 'algorand:testnet' }],
  ['without a network', {}],
  ['that is no object', 'exact'],
  ['that is missing', undefined],
])('an accepted %s goes on as it came', async (_, accepted) => {
  const { fake, facilitator } = await start({ '/supported': listing(FULL) })
  await facilitator.verify({ ...newPayment(), accepted }, REQUIREMENTS)
  const body = fake.asked.at(-1)?.body as { paymentPayload: object; paymentRequirements: { network: string } }
  expect(body.paymentPayload).toEqual(JSON.parse(JSON.stringify({ ...newPayment(), accepted })))
  expect(body.paymentRequirements.network).toBe(FULL)
})

test('until /supported has answered, our own spelling is used; afterwards the listed one', async () => {
  const { fake, facilitator } = await start(
    { '/supported': status(503) },
    { firstWaitMs: 20, retryMs: 5, refreshMs: 5 },
  )
  const payment = newPayment()
  const networks = () => {
    const asked = fake.asked.filter(({ path }) => path === '/verify')
    return asked.map(
      ({ body }) => (body as { paymentRequirements: { network: string } }).paymentRequirements.network,
    )
  }
  await facilitator.verify(payment, REQUIREMENTS)
  fake.replies['/supported'] = listing(FULL)
  await fake.askedTimes('/supported', fake.asked.length + 3)
  await facilitator.verify(payment, REQUIREMENTS)
  expect(networks()).toEqual([SHORT, FULL])
})

test('a payment is not kept waiting for a /supported that hangs', async () => {
  const { facilitator } = await start(
    { '/supported': hang, '/verify': json({ isValid: true }) },
    { firstWaitMs: 20, supportedTimeoutMs: 60_000 },
  )
  expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
})

test('a payload too deep to encode is refused without being sent', async () => {
  const { fake, facilitator } = await start()
  const payload: unknown = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))
  const reason = 'invalid_payload: the payment is too large, or too deep, to be sent on'
  const refused = { verdict: 'refused', reason }
  expect(await facilitator.verify({ payload }, REQUIREMENTS)).toEqual(refused)
  expect(await facilitator.settle({ payload }, REQUIREMENTS)).toEqual(refused)
  expect(fake.asked.map(({ path }) => path)).toEqual(['/supported'])
})

test('verify and settle of one payment encode it once', async () => {
  const { fake, facilitator } = await start()
  let encodings = 0
  const payload = { toJSON: () => ++encodings }
  const payment = { ...newPayment(), payload }
  await facilitator.verify(payment, REQUIREMENTS)
  await facilitator.settle(payment, REQUIREMENTS)
  expect(encodings).toBe(1)
  expect(fake.asked).toHaveLength(3)
})

test('a payment that hosts would refuse for its size is refused here, by whatever door it came, and is not sent', async () => {
  const { fake, facilitator } = await start({ '/supported': listing(SHORT) })
  const sent = { ...newPayment(), extensions: { padding: 'x'.repeat(100_000) } }
  const refused = {
    verdict: 'refused',
    reason: 'invalid_payload: the payment is too large, or too deep, to be sent on',
  }
  expect(await facilitator.verify(sent, REQUIREMENTS)).toEqual(refused)
  expect(await facilitator.settle(sent, REQUIREMENTS)).toEqual(refused)
  expect(fake.asked.map(({ path }) => path)).toEqual(['/supported'])
})
