/** The record of one call: whose trace it is part of, what its log may say, and who its payment is proven to come from. */
import { describe, expect, it } from 'vitest'
import { spanIdOf } from '../../src/app/charge/call-at-work.js'
import { Cancellation, contextOf } from '../../src/app/charge/make-handler-context.js'
import { claimedPayer, meetsTerms, paysUs } from '../../src/app/charge/names-in-stores.js'
import { MAINNET } from '../../src/domain/network.js'
import { silentLogger } from '../../src/ports/logger.js'
import type { ReadPayment } from '../../src/ports/payment-reader.js'
import { fieldsOf } from '../support/call-fields.js'
import { PAYMENT, REQUIREMENTS, type Scene, scene, UUID } from '../support/charge-fixture.js'
import { READ, START_MS } from '../support/one-call.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
/** With a value that nobody may look at. */
const MALFORMED = { kind: 'malformed', why: 'not JSON', value: {} } as const
const traced = (traceparent: string | undefined) => scene({ request: { headers: { traceparent } } }).call

describe('a new call', () => {
  it('holds nothing, owes nothing, and knows what can be read in its payment', () => {
    const { call } = scene({ request: { payment: PAYMENT } })
    expect(fieldsOf(call)).toMatchObject({ id: UUID, startedMs: START_MS + 7, startedMonotonicMs: START_MS })
    expect(fieldsOf(call)).toMatchObject({ payload: {}, read: { txId: 'TX' }, txId: 'TX', payer: 'PAYER' })
    expect(fieldsOf(call)).toMatchObject({ held: false, logs: [] })
    expect(fieldsOf(call)).toMatchObject({ handlerMs: 10_000, settleByMs: Number.POSITIVE_INFINITY })
  })

  it('has all fields of its parts, so that all calls have one shape', () => {
    const { window, earlier, end, payment } = scene({ request: { payment: PAYMENT } }).call
    expect(window).toStrictEqual({
      endedKey: undefined,
      used: undefined,
      callsLeft: undefined,
      sold: undefined,
    })
    expect(earlier).toStrictEqual({ recorded: undefined, replayed: undefined })
    const unsaid = undefined
    expect(end).toStrictEqual({ problem: unsaid, refusal: unsaid, retryAfterMs: unsaid, mismatch: unsaid })
    expect(payment.isProven).toBe(false)
  })

  it('has the target that its door found, else that of its endpoint', () => {
    const target = { method: 'POST', path: '/items/7', params: { id: '7' } } as const
    expect(scene({ request: { target } }).call.request.target).toBe(target)
    expect(scene().call.request.target).toMatchObject({ method: 'POST', path: '/work' })
  })

  it.each<[string, Scene]>([
    ['without a payment', {}],
    ['with one that the door could not read', { request: { payment: MALFORMED } }],
    ['with one in which nothing can be read', { request: { payment: PAYMENT }, read: null }],
  ])('%s has neither payer nor transaction', (_, given) => {
    const { call } = scene(given)
    expect([call.payment.read, call.payment.payer, call.payment.txId]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('the trace', () => {
  it.each([
    ['00', false],
    ['01', true],
    ['02', false],
    ['03', true],
  ])('is that of a caller who traces; flags %s: recorded %s', (flags, sampled) => {
    expect(traced(`00-${TRACE}-${SPAN}-${flags}`)).toMatchObject({
      traceId: TRACE,
      parentSpan: { id: SPAN, sampled },
    })
  })

  it.each([
    undefined,
    '',
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `01-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `x00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-0`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN.slice(1)}-01`,
  ])('is of its own where the caller names none: %s', traceparent => {
    const call = traced(traceparent)
    expect(call.traceId).toBe('0123456789ab4cde8f0123456789abcd')
    expect(call.parentSpan).toBeUndefined()
  })

  it('has a span of the call alone, of 16 digits', () => {
    expect(spanIdOf(scene().call)).toBe('8f0123456789abcd')
  })
})

describe('the log of a handler', () => {
  function logged(...entries: readonly unknown[]) {
    const { call, world } = scene()
    const { log } = contextOf(world, call, new Cancellation())
    for (const data of entries) log('said', data)
    return call.handled.logs
  }

  it('keeps the last twenty entries', () => {
    const kept = logged(...Array.from({ length: 23 }, (_, at) => at))
    expect(kept.map(({ data }) => data)).toEqual(Array.from({ length: 20 }, (_, at) => at + 3))
  })

  it('says what was said when it was said', () => {
    const data = { rows: 1 }
    const entries = logged(data)
    data.rows = 2
    expect(entries).toEqual([{ atMs: expect.any(Number), message: 'said', data: { rows: 1 } }])
    expect(logged(undefined)).toStrictEqual([{ atMs: expect.any(Number), message: 'said' }])
  })

  it('is bounded, whatever a handler writes', () => {
    const { call, world } = scene()
    const { log } = contextOf(world, call, new Cancellation())
    log('x'.repeat(2_000))
    log(7 as never)
    expect(call.handled.logs.map(({ message }) => message)).toEqual(['x'.repeat(1_000), '7'])
    // With its quotation marks a text of 1998 characters has 2000.
    const [whole, cut] = logged('y'.repeat(1_998), 'y'.repeat(1_999))
    expect(whole!.data).toBe('y'.repeat(1_998))
    expect(cut!.data).toBe(`"${'y'.repeat(1_999)}…`)
  })

  it('is told to the seller, masks what is named like a secret, and keeps what is private from the caller', () => {
    const { call, world } = scene()
    const told: unknown[][] = []
    const logger = {
      ...silentLogger,
      info: (...said: unknown[]) => told.push(said),
      warn: (...said: unknown[]) => told.push(said),
    }
    const { log } = contextOf({ ...world, logger }, call, new Cancellation())
    log('asked', { apiKey: 'k-1', deep: [{ PASSWORD: { of: 'k-2' } }], tokens: 12, city: 'Bergen' })
    log('again', { secret: 'k-3' })
    log.private('for me', { city: 'Oslo' })
    const masked = '[masked: its name looks like a secret]'
    const data = { apiKey: masked, deep: [{ PASSWORD: masked }], tokens: 12, city: 'Bergen' }
    expect(call.handled.logs.map(({ message, data }) => [message, data])).toEqual([
      ['asked', data],
      ['again', { secret: masked }],
    ])
    expect(JSON.stringify(told)).not.toMatch(/k-\d/)
    expect(told.map(([, message]) => message)).toEqual([
      expect.stringContaining('named like a secret'),
      'asked',
      'again',
      'for me',
    ])
    expect(told[1]![0]).toMatchObject({ data, traceId: call.traceId })
  })

  it('gives away no more of an error than its name', () => {
    const cause = Object.assign(new RangeError('of the key k'), { headers: { authorization: 'k' } })
    expect(logged(cause, { cause, list: [cause] }).map(({ data }) => data)).toEqual([
      'RangeError',
      { cause: 'RangeError', list: ['RangeError'] },
    ])
  })

  it('is not broken by what JSON cannot say', () => {
    const looped: Record<string, unknown> = {}
    looped.self = looped
    const entries = logged(looped, 5n, () => 1)
    expect(entries.map(({ data }) => data)).toEqual(['not JSON', 'not JSON', null])
  })
})

describe('a payer that a payment claims, where no transaction can be read in it,', () => {
  it.each<[unknown, string | undefined]>([
    [{ payer: 'A', from: 'B', sender: 'C' }, 'A'],
    [{ from: 'B', sender: 'C' }, 'B'],
    [{ sender: 'C', authorization: { from: 'D' } }, 'C'],
    [{ authorization: { from: 'D' } }, 'D'],
    [{ authorization: 'D' }, undefined],
    [{ payer: 'x'.repeat(128) }, 'x'.repeat(128)],
    [{ payer: 'x'.repeat(129) }, undefined],
    [{ payer: 7 }, undefined],
    ['text', undefined],
    [undefined, undefined],
  ])('of %j is %j', (payload, payer) => {
    expect(claimedPayer({ payload })).toBe(payer)
  })

  it('of none is none', () => expect(claimedPayer(undefined)).toBeUndefined())
})

const OTHERS: Record<string, Partial<ReadPayment>> = {
  'another receiver': { receiver: 'OTHER' },
  'another network': { genesisHash: MAINNET.genesisHash },
  'another asset': { asset: '1' },
}

describe('a payment', () => {
  const { world } = scene()

  it('pays us where receiver, network and asset are ours', () => expect(paysUs(world, READ)).toBe(true))

  it.each(Object.entries(OTHERS))('to %s does not pay us, and meets no terms', (_, other) => {
    expect(paysUs(world, { ...READ, ...other })).toBe(false)
    expect(meetsTerms(world, { ...READ, ...other }, REQUIREMENTS)).toBe(false)
  })

  it.each([
    [9_999n, false],
    [10_000n, true],
    [10_001n, false],
  ])('meets the terms by exactly their amount: %s, %s', (amount, meets) => {
    expect(meetsTerms(world, { ...READ, amount }, REQUIREMENTS)).toBe(meets)
  })
})
