import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { endless, hang, json, redirect, reset, status, text } from '../../support/fake-facilitator.js'
import { adapterTo, FULL, listing, OTHER_SPONSOR, SHORT, SPONSOR, start, startFake } from './setup.js'

/** Refreshed by hand or by a short timer, never by the clock on the wall. */
const OFTEN = { refreshMs: 5, retryMs: 5 }

test.each([SHORT, FULL])('the network is remembered as it is spelt: %s', async network => {
  const { facilitator } = await start({ '/supported': listing(network) })
  expect(await facilitator.supported()).toEqual({ network, feePayer: SPONSOR })
  expect(facilitator.status).toEqual({ answered: true })
})

test('our kind is found among others', async () => {
  const ours = { x402Version: 2, scheme: 'exact', network: SHORT, extra: { feePayer: SPONSOR } }
  const kinds = [
    null,
    'exact',
    { ...ours, x402Version: 1, extra: { feePayer: OTHER_SPONSOR } },
    { ...ours, x402Version: '2', extra: { feePayer: OTHER_SPONSOR } },
    { ...ours, scheme: 'upto', extra: { feePayer: OTHER_SPONSOR } },
    { ...ours, network: 'eip155:8453', extra: { feePayer: OTHER_SPONSOR } },
    { ...ours, network: 'algorand:*', extra: { feePayer: OTHER_SPONSOR } },
    { ...ours, network: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k', extra: { feePayer: OTHER_SPONSOR } },
    ours,
  ]
  const { facilitator } = await start({ '/supported': json({ kinds }) })
  expect(await facilitator.supported()).toEqual({ network: SHORT, feePayer: SPONSOR })
})

test.each([
  null,
  {},
  'x',
  { feePayer: 5 },
  { feePayer: '' },
  { feePayer: 'not-an-address' },
  { feePayer: { toString: SPONSOR } },
])('a sponsor that is no address is no sponsor: %j', async extra => {
  const { facilitator } = await start({ '/supported': listing(SHORT, extra) })
  expect(await facilitator.supported()).toEqual({ network: SHORT })
})

test('the first caller waits for a slow answer only so long, and the next not at all', async () => {
  const { facilitator } = await start({ '/supported': hang }, { firstWaitMs: 50, supportedTimeoutMs: 60_000 })
  const startedMs = performance.now()
  expect(await facilitator.supported()).toBeUndefined()
  expect(performance.now() - startedMs).toBeGreaterThan(40)
  const next = Promise.resolve(facilitator.supported()).then(() => 'at once')
  expect(await Promise.race([next, setImmediate('later')])).toBe('at once')
})

test('a hundred callers before the first answer are one request', async () => {
  const { fake, facilitator } = await start()
  const answers = await Promise.all(Array.from({ length: 100 }, () => facilitator.supported()))
  expect(new Set(answers)).toEqual(new Set([{ network: SHORT, feePayer: SPONSOR }]))
  expect(fake.asked).toHaveLength(1)
})

test.each([
  ['5xx', status(503), 'status 503'],
  ['429', status(429), 'status 429'],
  ['404', status(404), 'status 404'],
  ['a reset', reset, 'ECONNRESET|UND_ERR_SOCKET'],
  ['silence', hang, 'no answer within'],
  ['HTML', text('<html>', 200, 'text/html'), 'without a JSON object'],
  ['a list', json([]), 'without a JSON object'],
  ['no kinds', json({}), 'lists no kinds'],
  ['kinds of another type', json({ kinds: 'exact' }), 'lists no kinds'],
  ['an empty list', json({ kinds: [] }), 'does not list exact payments on testnet'],
  ['the right kinds under 404', json({ kinds: [] }, 404), 'status 404'],
  ['a body without end', endless(), 'UND_ERR_RES_EXCEEDED_MAX_SIZE'],
])(
  'after %s the last good answer is kept, the fault is told, and the next good answer heals it',
  async (_, bad, error) => {
    const supportedTimeoutMs = bad === hang ? 100 : 10_000
    const { fake, facilitator } = await start({}, { ...OFTEN, supportedTimeoutMs })
    // On a busy machine, the time limit may end a question that a good answer is under way for.
    const ofFirst = { network: SHORT, feePayer: SPONSOR }
    await expect.poll(() => facilitator.supported()).toEqual(ofFirst)
    fake.replies['/supported'] = bad
    await fake.askedTimes('/supported', fake.asked.length + 3)
    expect(await facilitator.supported()).toEqual(ofFirst)
    expect(facilitator.status).toEqual({
      answered: true,
      lastError: expect.stringMatching(new RegExp(`^/supported: .*(${error})`)),
    })
    fake.replies['/supported'] = listing(FULL, { feePayer: OTHER_SPONSOR })
    await expect.poll(() => facilitator.supported()).toEqual({ network: FULL, feePayer: OTHER_SPONSOR })
    await expect.poll(() => facilitator.status).toEqual({ answered: true })
  },
)

test('a redirect is not followed', async () => {
  const elsewhere = await startFake()
  const { facilitator } = await start({ '/supported': redirect(`${elsewhere.url}/supported`) })
  expect(await facilitator.supported()).toBeUndefined()
  expect(elsewhere.asked).toEqual([])
  expect(facilitator.status).toEqual({ answered: false, lastError: '/supported: status 307' })
})

test('nobody listening is not an answer; a "not found" is one', async () => {
  const gone = await startFake()
  await gone.close()
  const silent = adapterTo(gone.url)
  expect(await silent.supported()).toBeUndefined()
  expect(silent.status).toEqual({ answered: false, lastError: expect.stringContaining('ECONNREFUSED') })

  const { facilitator } = await start({ '/supported': status(404) })
  await facilitator.supported()
  expect(facilitator.status.answered).toBe(true)
})

test('the seller is told of changes, not of every failure', async () => {
  const messages: string[] = []
  const warn = (message: string) => void messages.push(message)
  const { fake, facilitator } = await start({ '/supported': status(503) }, { ...OFTEN, warn })
  await fake.askedTimes('/supported', 5)
  fake.replies['/supported'] = listing(SHORT)
  await fake.askedTimes('/supported', fake.asked.length + 3)
  fake.replies['/supported'] = listing(SHORT, { feePayer: OTHER_SPONSOR })
  await fake.askedTimes('/supported', fake.asked.length + 3)
  expect(messages).toEqual([
    `Facilitator ${fake.url}: no usable /supported: status 503`,
    `Facilitator ${fake.url}: /supported answers again`,
    `Facilitator ${fake.url}: fees are now sponsored by ${OTHER_SPONSOR}`,
  ])
  expect(await facilitator.supported()).toEqual({ network: SHORT, feePayer: OTHER_SPONSOR })
})

test('trailing slashes and a base path are understood', async () => {
  const fake = await startFake()
  const facilitator = adapterTo(`${fake.url}/x402//`)
  await facilitator.supported()
  expect(facilitator.url).toBe(`${fake.url}/x402`)
  expect(fake.asked.map(({ path }) => path)).toEqual(['/x402/supported'])
})
