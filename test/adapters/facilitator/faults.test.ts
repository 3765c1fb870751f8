/** What can go wrong between two sockets: never a yes, never a no. */
import { expect, test } from 'vitest'
import {
  endless,
  hang,
  json,
  type Path,
  type Reply,
  redirect,
  reset,
  stall,
  status,
  text,
  truncate,
} from '../../support/fake-facilitator.js'
import { adapterTo, newPayment, REQUIREMENTS, start, startFake } from './setup.js'

const YES = JSON.stringify({ isValid: true, success: true, transaction: 'TX' })
const NO = JSON.stringify({
  isValid: false,
  invalidReason: 'x',
  success: false,
  transaction: '',
  errorReason: 'x',
})

const FAULTS: readonly (readonly [string, Reply])[] = [
  ['500', status(500)],
  ['503 with a yes in it', text(YES, 503)],
  ['500 with a no in it', text(NO, 500)],
  ['429 with a no in it', text(NO, 429)],
  ['408 with a no in it', text(NO, 408)],
  ['201 with a yes in it', text(YES, 201)],
  ['202 with a no in it', text(NO, 202)],
  ['404 with a yes in it', text(YES, 404)],
  ['404 as HTML', text('<h1>not found</h1>', 404, 'text/html')],
  ['a reset', reset],
  ['silence', hang],
  ['half an answer, then silence', stall],
  ['a yes cut short', truncate(YES)],
  ['a no cut short', truncate(NO)],
  ['truncated JSON', text(YES.slice(0, -1))],
  ['two documents', text(YES + YES)],
  ['nothing', text('')],
  ['HTML', text('<html>isValid: true</html>', 200, 'text/html')],
  ['a list of a yes', text(`[${YES}]`)],
  ['true', json(true)],
  ['null', json(null)],
  ['a string', json(YES)],
  ['other content', json({ ok: true })],
  ['an inherited yes', text(`{"__proto__":${YES}}`)],
  ['isValid and success as strings', json({ isValid: 'true', success: 'true', transaction: 'TX' })],
  ['isValid and success as numbers', json({ isValid: 1, success: 1, transaction: 'TX' })],
  ['isValid and success as zero', json({ isValid: 0, success: 0, transaction: '', errorReason: 'x' })],
  ['isValid and success as null', json({ isValid: null, success: null, transaction: '', errorReason: 'x' })],
  ['a yes in 65 KiB', text(YES + ' '.repeat(65 * 1024))],
  ['deep nesting', text('['.repeat(60_000))],
]

const SHORT_WAITS = { verifyTimeoutMs: 150, settleTimeoutMs: 150 }

test.each(FAULTS)('%s: unreachable to verify, unknown to settle', async (_, reply) => {
  const { facilitator } = await start({ '/verify': reply, '/settle': reply }, SHORT_WAITS)
  expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toEqual({
    verdict: 'unreachable',
    cause: expect.any(String),
    down: expect.any(Boolean),
  })
  expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toEqual({
    verdict: 'unknown',
    cause: expect.any(String),
  })
})

test.each([301, 302, 303, 307, 308])('a payment does not follow a %i', async code => {
  const elsewhere = await startFake()
  const to = (path: Path) => redirect(elsewhere.url + path, code)
  const { facilitator } = await start({ '/verify': to('/verify'), '/settle': to('/settle') })
  expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
  expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unknown' })
  expect(elsewhere.asked).toEqual([])
})

test('a body without end is cut', async () => {
  const cutAfter = new Promise<number>(resolve => {
    void start({ '/settle': endless(resolve) }).then(({ facilitator }) =>
      facilitator.settle(newPayment(), REQUIREMENTS),
    )
  })
  // What the kernel's buffers took in by then comes on top of the 64 KiB that are read.
  expect(await cutAfter).toBeLessThan(16 * 1024 * 1024)
})

test('a 5xx is told at once, even where its body never ends', async () => {
  const slowFailure: Reply = response => {
    response.writeHead(502, { 'content-length': 100 }).write('{')
  }
  const { facilitator } = await start({ '/settle': slowFailure }, { settleTimeoutMs: 300 })
  // Told at the deadline, the cause would be the deadline.
  expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toEqual({
    verdict: 'unknown',
    cause: 'status 502',
  })
})

test('nobody listening, and asked after closing', async () => {
  const gone = await startFake()
  await gone.close()
  const facilitator = adapterTo(gone.url)
  expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
  await facilitator.close()
  expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unknown' })
})

test('what is wrong is told in the status until the next good answer', async () => {
  const { fake, facilitator } = await start({ '/verify': status(503) })
  await facilitator.supported()
  await facilitator.verify(newPayment(), REQUIREMENTS)
  expect(facilitator.status).toEqual({ answered: true, lastError: '/verify: status 503' })
  fake.replies['/verify'] = json({ isValid: true })
  await facilitator.verify(newPayment(), REQUIREMENTS)
  expect(facilitator.status).toEqual({ answered: true })
})
