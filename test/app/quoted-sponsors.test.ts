/** Which sponsors were quoted lately, by any server of one store: in memory and on a real Redis, within a few questions to it. */
import { describe, expect, it } from 'vitest'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { quotedSponsors } from '../../src/app/server/quoted-sponsors.js'
import { systemClock } from '../../src/ports/clock.js'
import type { SubscriptionStore } from '../../src/ports/subscriptions.js'
import { redisStores } from '../../src/redis.js'
import { closing } from '../support/closing.js'
import { PATIENT, startRedis } from '../support/redis-server.js'
import { skippableClock } from '../support/skippable-clock.js'

const URL = 'https://facilitator.example'
const SPONSOR = 'A'.repeat(58)
const QUOTE_MS = 300_000

const STORES: Record<string, () => Promise<SubscriptionStore>> = {
  memory: async () => memorySubscriptions(),
  async Redis() {
    const redis = await startRedis()
    closing({ close: () => redis.stop() })
    return closing(redisStores(redis.url, PATIENT)).subscriptions
  },
}

/** The store, and what it was asked. */
function counting(store: SubscriptionStore) {
  const asked: string[] = []
  const writes: unknown[] = []
  const counted: SubscriptionStore = {
    ...store,
    get(id) {
      asked.push('get')
      return store.get(id)
    },
    putIfAbsent(id, record) {
      asked.push('put')
      const written = store.putIfAbsent!(id, record)
      writes.push(written)
      return written
    },
  }
  return { store: counted, asked, written: () => Promise.all(writes) }
}

function server(subscriptions: SubscriptionStore, { owner = 'seller', clock = systemClock } = {}) {
  return quotedSponsors({
    owner: { seller: owner },
    subscriptions,
    clock,
    quoteLifeMs: QUOTE_MS,
  })
}

describe.each(Object.entries(STORES))('in %s', (_, make) => {
  it('what one server quotes, another knows; other sponsors, URLs and owners it does not', async () => {
    const { store, asked, written } = counting(await make())
    server(store).note(URL, SPONSOR)
    // The write begins when the store has said its time.
    await expect.poll(() => asked).toEqual(['put'])
    await written()
    expect(await server(store).wasQuoted(URL, SPONSOR)).toBe(true)
    expect(await server(store).wasQuoted(URL, 'B'.repeat(58))).toBe(false)
    expect(await server(store).wasQuoted('https://other.example', SPONSOR)).toBe(false)
    expect(await server(store, { owner: 'another seller' }).wasQuoted(URL, SPONSOR)).toBe(false)
  })
})

describe('a server', () => {
  it('writes once in the life of a quote, however often it quotes, and asks nothing about its own', async () => {
    const { clock, pass } = skippableClock()
    const { store, asked } = counting(memorySubscriptions({ clock }))
    const quoting = server(store, { clock })
    for (let quote = 0; quote < 1_000; quote++) quoting.note(URL, SPONSOR)
    expect(await quoting.wasQuoted(URL, SPONSOR)).toBe(true)
    await expect.poll(() => asked).toEqual(['put'])
    pass(QUOTE_MS)
    quoting.note(URL, SPONSOR)
    await quoting.wasQuoted(URL, SPONSOR)
    await expect.poll(() => asked).toEqual(['put', 'put'])
  })

  it('asks once about a sponsor that payers name again and again', async () => {
    const { store, asked } = counting(memorySubscriptions())
    const { wasQuoted } = server(store)
    const answers = await Promise.all(Array.from({ length: 100 }, () => wasQuoted(URL, SPONSOR)))
    expect(new Set(answers)).toEqual(new Set([false]))
    expect(asked).toEqual(['get', 'get'])
  })

  it('counts a quote for as long as it can be paid, and not much longer', async () => {
    const { clock, pass } = skippableClock()
    const store = memorySubscriptions({ clock })
    server(store, { clock }).note(URL, SPONSOR)
    const isKnown = () => server(store, { clock }).wasQuoted(URL, SPONSOR)
    expect(await isKnown()).toBe(true)
    pass(2 * QUOTE_MS)
    expect(await isKnown()).toBe(true)
    pass(2 * QUOTE_MS)
    expect(await isKnown()).toBe(false)
  })

  it('takes a store that does not answer for one that knows nothing, and quotes all the same', async () => {
    const down = () => {
      throw new Error('down')
    }
    const { note, wasQuoted } = server({ get: down, putIfAbsent: down, sweep: down })
    note(URL, 'B'.repeat(58))
    expect(await wasQuoted(URL, SPONSOR)).toBe(false)
  })
})
