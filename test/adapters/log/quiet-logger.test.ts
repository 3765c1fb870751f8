/** What goes to a seller's logger: errors without the commands, requests and payers that libraries hang on them. */
import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quietLogger } from '../../../src/adapters/log/quiet-logger.js'
import { defineEndpoint } from '../../../src/index.js'
import { silentLogger } from '../../../src/ports/logger.js'
import { redisStores } from '../../../src/redis.js'
import { closing } from '../../support/closing.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { open, pay } from '../../support/seller.js'

function recording() {
  const lines: Record<string, unknown>[] = []
  const say = (fields: object) => void lines.push(fields as Record<string, unknown>)
  return { lines, logger: { debug: say, info: say, warn: say, error: say } }
}

/** All that any logger could print of it. */
const printed = (value: unknown) =>
  inspect(value, { depth: 20, showHidden: true, getters: true, maxStringLength: null })

const PAYER = 'A'.repeat(58)

describe('an error in a line', () => {
  it('keeps its name, message, stack, code and causes', () => {
    const { lines, logger } = recording()
    const cause = Object.assign(new TypeError('no route'), {
      code: 'ENETUNREACH',
      errno: -101,
      syscall: 'connect',
    })
    const err = Object.assign(new RangeError('it broke', { cause }), { code: 'broken', statusCode: 502 })
    quietLogger(logger).error({ err, calls: 3, list: [1] }, 'said')
    expect(lines).toEqual([{ err: expect.any(Error), calls: 3, list: [1] }])
    expect(lines[0]!.err).toMatchObject({
      name: 'RangeError',
      message: 'it broke',
      code: 'broken',
      statusCode: 502,
    })
    expect(lines[0]!.err).toMatchObject({
      stack: err.stack,
      cause: { name: 'TypeError', code: 'ENETUNREACH' },
    })
  })

  it('loses whatever else hangs on it, and on its causes and its parts', () => {
    const { lines, logger } = recording()
    const baggage = {
      command: { name: 'get', args: [PAYER] },
      config: { headers: { authorization: 'secret' } },
    }
    const part = Object.assign(new Error('part'), baggage)
    const err = Object.assign(
      new AggregateError([part], 'all', { cause: Object.assign(new Error('why'), baggage) }),
      baggage,
    )
    quietLogger(logger).error({ err }, 'said')
    expect(printed(lines)).not.toMatch(new RegExp(`${PAYER}|secret`))
    expect(lines[0]!.err).toMatchObject({
      message: 'all',
      cause: { message: 'why' },
      errors: [{ message: 'part' }],
    })
  })

  it('names no address in its words, whoever put it there', () => {
    const { lines, logger } = recording()
    quietLogger(logger).warn({ err: new Error(`{${PAYER}} is odd`) }, 'said')
    expect(printed(lines)).not.toContain(PAYER)
    expect(lines[0]!.err).toMatchObject({ message: '{AAAA…} is odd' })
  })

  it('names no address in a cause that is text, such as a facilitator’s words', () => {
    const { lines, logger } = recording()
    quietLogger(logger).warn({ cause: `overspend (account ${PAYER})`, payTo: PAYER }, 'said')
    expect(lines).toEqual([{ cause: 'overspend (account AAAA…)', payTo: PAYER }])
  })

  it('that refers to itself is logged all the same', () => {
    const { lines, logger } = recording()
    const err: Error & { cause?: unknown } = new Error('round')
    err.cause = err
    quietLogger(logger).error({ err }, 'said')
    expect(lines).toHaveLength(1)
  })

  it('leaves lines without errors as they are', () => {
    const { lines, logger } = recording()
    const fields = { id: 'a', payer: undefined }
    quietLogger(logger).info(fields, 'said')
    expect(lines[0]).toBe(fields)
  })
})

describe('a Redis that refuses a command', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })

  it('is logged without the command and its arguments, which name the payer', async () => {
    const admin = new Redis(redis.url)
    closing({ close: () => admin.disconnect() })
    const { lines, logger } = recording()
    const stores = closing(redisStores(redis.url, { logger: silentLogger }))
    const seller = await open([work], { stores, logger, rateLimit: { perMinute: 100 } })
    await admin.config('SET', 'maxmemory', '1')
    const response = await pay(seller, `${seller.url}/work`, { body: {} })
    await admin.config('SET', 'maxmemory', '0')
    expect(response.status).toBe(503)
    expect(lines.filter(({ err }) => err !== undefined)).not.toEqual([])
    expect(printed(lines)).not.toContain(seller.sandbox.wallet.address)
    expect(printed(lines)).not.toMatch(/\bargs\b/)
  })

  it('is logged without the arguments that its own words repeat', async () => {
    const admin = new Redis(redis.url)
    closing({ close: () => admin.disconnect() })
    const { lines, logger } = recording()
    const err = await admin.call('nosuch', `{${PAYER}}:limit`, 'address:203.0.113.7').catch(cause => cause)
    expect(String(err)).toContain('203.0.113.7')
    quietLogger(logger).error({ err }, 'said')
    expect(printed(lines)).not.toMatch(new RegExp(`${PAYER}|203`))
    expect(lines[0]!.err).toMatchObject({ message: expect.stringContaining('unknown command') })
  })
})
