/** What callers are told of a handler's failure: no words that only this server may say, and none that were not meant for them. */
import { describe, expect, it } from 'vitest'
import { MESSAGES } from '../../src/app/charge/call-outcome.js'
import {
  answeredFailure,
  isReservedCode,
  resemblesFailure,
  thrownFailure,
} from '../../src/app/charge/handler-failure.js'
import { SvcError } from '../../src/domain/errors.js'

const PLAIN = { problem: { message: MESSAGES.failed } }
const chosen = (fields: object) => ({ expose: true, message: 'chosen', ...fields })

describe('what a handler throws', () => {
  it.each([
    'text',
    null,
    undefined,
    () => {},
    new Error('of the key k'),
    Object.assign(new Error('of the key k'), { status: 404, code: 'not_found' }),
    chosen({ expose: false }),
    chosen({ expose: 'true' }),
  ])('is told in our own words where it was not meant for callers: %s', cause => {
    expect(thrownFailure(cause)).toStrictEqual(PLAIN)
  })

  it.each<[object, object]>([
    [{}, {}],
    [
      { status: 404, code: 'not_found' },
      { status: 404, code: 'not_found' },
    ],
    [{ statusCode: 404 }, { status: 404 }],
    [{ status: 404, statusCode: 500 }, { status: 404 }],
    [{ status: 400 }, { status: 400 }],
    [{ status: 599 }, { status: 599 }],
    [{ code: '' }, {}],
    [{ code: 7 }, {}],
    [{ code: ['payment_spent'] }, {}],
  ])('is told where it was: %j as %j', (fields, told) => {
    expect(thrownFailure(chosen(fields))).toStrictEqual({ problem: { message: 'chosen', ...told } })
  })

  it.each([{ message: '' }, { message: 7 }])('says something, whatever its message is: %j', fields => {
    expect(thrownFailure(chosen(fields))).toStrictEqual(PLAIN)
  })

  it('may be an SvcError', () => {
    const { problem } = thrownFailure(new SvcError('no such row', 'no_row', 404))
    expect(problem).toEqual({ message: 'no such row', status: 404, code: 'no_row' })
  })

  it.each<[object, object, string]>([
    [{ status: 402, code: 'no_row' }, { code: 'no_row' }, 'status 402'],
    [{ status: 399 }, {}, 'status 399'],
    [{ status: 600 }, {}, 'status 600'],
    [{ status: 404.5 }, {}, 'status 404.5'],
    [{ status: '404' }, {}, 'status 404'],
    [{ status: 404, code: 'payment_spent' }, { status: 404 }, 'code payment_spent'],
    [{ status: 402, code: 'payment_required' }, {}, 'status 402 and code payment_required'],
  ])('passes for no word of ours about a payment: %j as %j, without %s', (fields, told, withheld) => {
    expect(thrownFailure(chosen(fields))).toStrictEqual({
      problem: { message: 'chosen', ...told },
      withheld,
    })
  })
})

describe('a failure that a handler answers', () => {
  const json = (value: unknown) => JSON.stringify(value)

  it.each<[number, string | Uint8Array]>([
    [404, json({ error: { code: 'no_row' } })],
    [404, json({ error: 'payment_spent' })],
    [404, json({ error: { code: 7 } })],
    [404, json({ error: { code: ['payment_spent'] } })],
    [404, json({ accepts: 'cookies' })],
    [404, json([{ accepts: [] }])],
    [404, json(null)],
    [404, 'not JSON'],
    [500, ''],
    [500, new Uint8Array([0xff, 0xfe])],
  ])('is passed on as it is: %i %s', (status, body) => {
    expect(answeredFailure({ status, headers: {}, body })).toBeUndefined()
  })

  it.each<[number, string | Uint8Array, object, string]>([
    [402, 'pay', {}, 'status 402'],
    [402, json({ accepts: [] }), {}, 'status 402'],
    [500, json({ accepts: [] }), { status: 500 }, 'a quote'],
    [409, json({ error: { code: 'payment_spent' } }), { status: 409 }, 'code payment_spent'],
    [
      409,
      new TextEncoder().encode(json({ error: { code: 'settlement_unknown' } })),
      { status: 409 },
      'code settlement_unknown',
    ],
  ])('that reads as ours is not: %i %s', (status, body, told, withheld) => {
    expect(answeredFailure({ status, headers: {}, body })).toStrictEqual({
      problem: { message: MESSAGES.failed, ...told },
      withheld,
    })
  })
})

describe('an answer that resembles a failure', () => {
  it.each<[unknown, boolean]>([
    [{ status: 400, error: 'e' }, true],
    [{ status: 404, body: 'b' }, true],
    [{ status: 399, error: 'e' }, false],
    [{ status: '404', error: 'e' }, false],
    [{ status: 404 }, false],
    [{ error: 'e', body: 'b' }, false],
    [null, false],
    ['text', false],
    [undefined, false],
  ])('%j: %s', (returned, resembles) => expect(resemblesFailure(returned)).toBe(resembles))
})

it.each<[boolean, readonly string[]]>([
  [
    true,
    [
      'store_unavailable',
      'rate_limited',
      'payment_spent',
      'payment_of_a_later_version',
      'invalid_siwx_later',
    ],
  ],
  [false, ['handler_error', 'no_such_city', 'paymentless', 'no_payment_plan', '']],
])('a code is reserved %s: %s', (isReserved, codes) => {
  expect(codes.map(isReservedCode)).toEqual(codes.map(() => isReserved))
})
