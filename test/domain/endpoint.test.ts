import { describe, expect, it } from 'vitest'
import { type EndpointOptions, endpoint } from '../../src/domain/endpoint.js'
import { refusedWith } from './refusal.js'

const handler = () => ({})
const sound = { name: 'echo', price: '$0.01', handler } satisfies EndpointOptions
const priceless = { name: 'echo', handler } satisfies Partial<EndpointOptions>

/** As plain JavaScript would call it. */
const define = (options: object) => endpoint(options as never)
const changed = (over: object) => () => define({ ...sound, ...over })

describe('an endpoint', () => {
  it('has the specification’s defaults', () => {
    expect(define(sound)).toEqual({
      name: 'echo',
      amount: '10000',
      description: '',
      price: '$0.01',
      method: 'POST',
      timeout: 30_000,
      listed: true,
      tags: [],
      handler,
    })
  })

  it('keeps everything it was given', () => {
    const options = {
      name: 'reports/daily-2',
      description: 'Daily report',
      subscription: { price: '$5', period: '30d' },
      priceHint: 'from $5',
      method: 'GET',
      input: { type: 'object' },
      timeout: 1_000,
      listed: false,
      tags: ['a'],
      handler,
    }
    expect(define(options)).toEqual({ ...options, amount: '5000000' })
  })

  it('cannot be changed after it was checked, nor through what it was made from', () => {
    const options = { ...priceless, subscription: { price: '$5', period: '30d' }, tags: ['a'] }
    const checked = define(options)
    options.subscription.price = '$500'
    options.tags.push('b')
    expect(checked.subscription).toEqual({ price: '$5', period: '30d' })
    expect(checked.tags).toEqual(['a'])
    expect([checked, checked.subscription, checked.tags].every(Object.isFrozen)).toBe(true)
  })

  it('may be checked again and stays the same', () => {
    expect(define(define(sound))).toEqual(define(sound))
  })

  it('may have a price that is worked out per request', () => {
    const price = () => '$0.02'
    expect(define({ ...sound, price }).price).toBe(price)
  })

  it.each(['a', '0', 'x402-check', 'a/b', 'a/b/c-1', '-'])('may be named %s', name => {
    expect(define({ ...sound, name }).name).toBe(name)
  })

  it.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    'A',
    'a_b',
    'a b',
    'a.b',
    '..',
    '../a',
    'a\n',
    'é',
    '%70',
    'a?b',
    'a#b',
    '__proto__',
  ])('may not be named %j', name => refusedWith('invalid_name', changed({ name })))
  it.each([[undefined], [null], [1], [['a']], [{}]])('may not be named %o', name => {
    refusedWith('invalid_name', changed({ name }))
  })

  it.each(['health', 'ready', 'metrics', 'a2a', 'mcp'])('may not hide behind the free route /%s', name => {
    refusedWith('invalid_endpoint', changed({ name }), /free route/)
  })

  it.each([1_000, 300_000])('may take %d ms', timeout =>
    expect(define({ ...sound, timeout }).timeout).toBe(timeout),
  )
  it.each([
    [999],
    [300_001],
    [0],
    [-1],
    [1_000.5],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    ['30000'],
    [null],
  ])('may not take %o ms', timeout => refusedWith('invalid_timeout', changed({ timeout })))

  it.each([['0'], ['1e-7'], ['1,000'], [0.01], [null], [{}]])('may not cost %o', price => {
    refusedWith('invalid_price', changed({ price }))
  })

  it('needs a handler', () => {
    refusedWith('invalid_endpoint', changed({ handler: undefined }), /handler/)
    refusedWith('invalid_endpoint', changed({ handler: 'work' }), /handler/)
  })

  it('has a price or a subscription, and not both', () => {
    const subscription = { price: '$5', period: '30d' }
    refusedWith('invalid_endpoint', () => define(priceless), /exactly one/)
    refusedWith('invalid_endpoint', () => define({ ...sound, subscription }), /exactly one/)
  })

  it('sells windows only for a sound price and period', () => {
    const selling = (subscription: unknown) => () => define({ ...priceless, subscription })
    refusedWith('invalid_price', selling({ price: '0', period: '30d' }))
    refusedWith('invalid_price', selling({ period: '30d' }))
    refusedWith('invalid_endpoint', selling({ price: '$5', period: '30 days' }))
    refusedWith('invalid_endpoint', selling({ price: '$5' }))
    refusedWith('invalid_endpoint', selling(null))
    refusedWith('invalid_endpoint', selling('30d'))
  })

  it.each([
    [{ method: 'HEAD' }, /method/],
    [{ method: 'post' }, /method/],
    [{ input: 'object' }, /input/],
    [{ input: [] }, /input/],
    [{ input: null }, /input/],
    [{ listed: 'yes' }, /listed/],
    [{ tags: 'a' }, /tags/],
    [{ tags: [1] }, /tags/],
    [{ description: 1 }, /description/],
    [{ priceHint: 1 }, /priceHint/],
  ])('is refused with %o', (over, words) => refusedWith('invalid_endpoint', changed(over), words))
})
