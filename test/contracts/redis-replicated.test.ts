/** `waitReplicas`: what must outlive a failover is answered when a replica has it, and nothing else waits for one. */
import { EventEmitter } from 'node:events'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Connection } from '../../src/adapters/redis/connection.js'
import { replicated } from '../../src/adapters/redis/wait-for-replicas.js'
import { type RedisStores, redisStores } from '../../src/redis.js'
import { bytes } from '../../src/testing/charge-store/fixture.js'
import { closing } from '../support/closing.js'
import { sentinelPair } from '../support/redis-failover.js'
import { type RedisPair, startRedisPair } from '../support/redis-pair.js'

const LEASE_MS = 60_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const LACKING = /0 of 1 replicas|replicas did not confirm/

let pair: RedisPair
let calls = 0
beforeAll(async () => {
  pair = await startRedisPair()
})
afterAll(() => pair.close())

const call = (token = `token ${++calls}`, name = `key ${calls}`) => ({
  slot: 'slot',
  token,
  claim: { name, bodyHash: 'body' },
  payment: `payment of ${name}`,
  leaseMs: LEASE_MS,
})
const recorded = (hold: ReturnType<typeof call>) => {
  const payment = { txId: hold.payment, firstValid: 1n, lastValid: 2n }
  const lives = { claimTtlMs: 10 * LEASE_MS, paymentTtlMs: 10 * LEASE_MS }
  return { ...hold, ...lives, recorded: { answer: bytes('answer'), payment } }
}
/** Half of its time a command waits for replicas: shorter where none will come, and long for all else on a busy machine. */
const PATIENT_MS = 20_000
const IN_VAIN_MS = 6_000
const stores = (waitReplicas: number, commandTimeoutMs = IN_VAIN_MS) =>
  closing(redisStores(pair.url, { commandTimeoutMs, waitReplicas, logger: silent }))
const task = { name: 'task', content: bytes('task'), owner: 'me', lifeMs: LEASE_MS, ownerMax: 9, max: 9 }
const payment = { network: 'testnet', txId: 'A'.repeat(52), firstValid: 1n, lastValid: 9n } as const

const changes = async () => {
  const said = /rdb_changes_since_last_save:(\d+)/.exec(await pair.primary().info('persistence'))
  return Number(said![1])
}

describe('with a replica that follows', () => {
  let waiting: RedisStores
  beforeEach(async () => {
    waiting = stores(1, PATIENT_MS)
    await waiting.ping()
  })

  it('records, sells, attaches and lets a payment take a task', async () => {
    const hold = call()
    expect(await waiting.charges.open(hold)).toEqual({ verdict: 'opened' })
    expect(await waiting.charges.record(recorded(hold))).toBe('recorded')
    await waiting.subscriptions.putIfAbsent('window', { endpoint: 'e', expiresAtMs: Date.now() + 60_000 })
    expect(await waiting.spend.reserve({ id: 'id', amount: 1n }, undefined)).toBe(true)
    expect(await waiting.spend.attach('id', payment)).toBe(true)
    await waiting.tasks.put(task)
    const take = { name: 'task', payment: 'P', token: 't', lifeMs: LEASE_MS }
    expect(await waiting.tasks.take(take)).toMatchObject({ payment: 'P', isFirst: true })
    expect(await waiting.health()).toMatchObject({ ok: true, warnings: [] })
  })

  it('sells a balance, takes of it and counts', async () => {
    const taking = { ...call(), slot: 'sold', payment: undefined, hasUnits: true }
    // Sent again, each of these is a write too, because WAIT may wait for writes alone.
    for (let sent = 0; sent < 2; sent++) {
      const before = await changes()
      await waiting.charges.sell!({ slot: 'sold', units: 10, expiresAtMs: Date.now() + 60_000 })
      expect(await changes()).toBeGreaterThan(before)
    }
    const taken = { verdict: 'taken', unused: 10 }
    expect(await waiting.charges.open({ ...taking, take: 4 })).toEqual({ verdict: 'opened', units: taken })
    const counted = { ...taking, how: 'complete', charge: 3, retentionMs: LEASE_MS } as const
    for (let sent = 0; sent < 2; sent++) {
      const before = await changes()
      expect(await waiting.charges.count!(counted)).toEqual({ verdict: 'closed', unused: 7 })
      expect(await changes()).toBeGreaterThan(before)
    }
    // So is asking for its answer.
    const before = await changes()
    const again = { ...taking, token: 'again', take: 4 }
    expect(await waiting.charges.open(again)).toMatchObject({ verdict: 'notKept' })
    expect(await changes()).toBeGreaterThan(before)
  })

  it('sells a window that another process has stored by a write, because WAIT may wait for writes alone', async () => {
    const record = { endpoint: 'e', expiresAtMs: Date.now() + 60_000 }
    for (const sold of [record, { ...record, callsLeft: 2 }]) {
      const id = `window of ${++calls}`
      await stores(0).subscriptions.putIfAbsent(id, sold)
      const before = await changes()
      await waiting.subscriptions.putIfAbsent(id, sold)
      expect(await changes()).toBe(before + 1)
    }
  })

  it('lets records of one moment share their waiting', async () => {
    const holds = Array.from({ length: 100 }, () => call())
    await Promise.all(holds.map(hold => waiting.charges.open(hold)))
    await pair.primary().config('RESETSTAT')
    const answers = await Promise.all(holds.map(hold => waiting.charges.record(recorded(hold))))
    expect(new Set(answers)).toEqual(new Set(['recorded']))
    const counted = /cmdstat_wait:calls=(\d+)/.exec(await pair.primary().info('commandstats'))
    expect(Number(counted?.[1])).toBeLessThan(50)
  })
})

describe('with a replica that receives nothing', () => {
  beforeAll(() => pair.part())

  it('refuses what a failover must not forget, and nothing else', async () => {
    const [waiting, heedless] = [stores(1), stores(0)]
    const refused = (...writes: unknown[]) =>
      Promise.all(writes.map(write => expect(Promise.resolve(write)).rejects.toThrow(LACKING)))
    const hold = call()
    expect(await waiting.charges.open(hold)).toEqual({ verdict: 'opened' })
    const record = { endpoint: 'e', expiresAtMs: Date.now() + 600_000 }
    // Of a window that another process stored, the replica may not know either.
    const counted = { ...record, callsLeft: 2 }
    await heedless.subscriptions.putIfAbsent('counted', counted)
    const sold = { slot: 'parted', units: 10, expiresAtMs: record.expiresAtMs }
    expect(await waiting.spend.reserve({ id: 'another', amount: 1n }, undefined)).toBe(true)
    expect(await waiting.tasks.put({ ...task, name: 'parted' })).toBe('kept')
    await refused(
      waiting.charges.record(recorded(hold)),
      waiting.subscriptions.putIfAbsent('another', record),
      waiting.subscriptions.putIfAbsent('counted', counted),
      // A balance that a failover forgets was paid for, and a count that it forgets was a paid answer.
      waiting.charges.sell!(sold),
      waiting.spend.attach('another', payment),
      // Where a failover forgot who took the task, another payment could be charged for it.
      waiting.tasks.take({ name: 'parted', payment: 'P', token: 't', lifeMs: LEASE_MS }),
    )
    // A call that is forgotten is the buyer's.
    const take = { endpoint: 'e', token: 'token', leaseMs: LEASE_MS }
    expect(await waiting.subscriptions.take!('counted', take)).toEqual({ verdict: 'taken', callsLeft: 1 })
    const taking = { ...call(), slot: 'parted', payment: undefined, hasUnits: true, take: 4 }
    // Nor is it said that too little is left: a count that this primary lacks may come back with another.
    const tooMuch = { ...taking, ...call(), payment: undefined, slot: 'parted', take: 11 }
    await refused(waiting.charges.open(taking), waiting.charges.open(tooMuch))
    const units = { verdict: 'taken', unused: 10 }
    expect(await heedless.charges.open(taking)).toMatchObject({ units })
    const count = { ...taking, how: 'complete', charge: 3, retentionMs: LEASE_MS } as const
    await refused(waiting.charges.count!(count))
    expect(await heedless.charges.count!(count)).toEqual({ verdict: 'closed', unused: 7 })
    await refused(waiting.charges.count!(count))
    // WAIT undoes nothing: what was refused is there, and is given back as after any command without an answer.
    expect(await waiting.charges.close({ ...hold, how: 'release', retentionMs: 0 })).toBe('closed')
    expect(await waiting.charges.open({ ...hold, token: 'next' })).toEqual({ verdict: 'opened' })
  })

  it('shows no successor a record that a failover may forget', async () => {
    const [waiting, heedless] = [stores(1), stores(0)]
    const dead = { ...call(), leaseMs: 0 }
    await heedless.charges.open(dead)
    expect(await heedless.charges.record(recorded(dead))).toBe('recorded')
    const successor = { ...dead, token: 'successor', leaseMs: LEASE_MS }
    await expect(waiting.charges.open(successor)).rejects.toThrow(LACKING)
    const again = await heedless.charges.open(successor)
    expect(again.verdict).toBe('orphaned')
  })

  it('shows no answer that a balance has paid for where a failover may forget the count', async () => {
    const [waiting, heedless] = [stores(1), stores(0)]
    await heedless.charges.sell!({ slot: 'counted', units: 10, expiresAtMs: Date.now() + 60_000 })
    const hold = { ...call(), slot: 'counted', payment: undefined, hasUnits: true }
    await heedless.charges.open({ ...hold, take: 4 })
    const counted = {
      ...hold,
      how: 'complete',
      charge: 3,
      retentionMs: LEASE_MS,
      answer: bytes('a'),
    } as const
    await heedless.charges.count!(counted)
    const again = { ...hold, token: 'again' }
    await expect(waiting.charges.open(again)).rejects.toThrow(LACKING)
    expect(await heedless.charges.open(again)).toMatchObject({ verdict: 'replayable' })
  })

  it('warns that it has none', async () => {
    const lacking = expect.stringContaining('connected_slaves 0, and waitReplicas is 1')
    expect(await stores(1).health()).toMatchObject({ warnings: [lacking] })
    expect(await stores(0).health()).toMatchObject({ warnings: [] })
  })
})

describe('by Sentinel', () => {
  it('what was recorded is there after a failover, whenever the primary dies', async () => {
    const watched = await sentinelPair()
    const waiting = closing(
      redisStores(watched.client(), { commandTimeoutMs: PATIENT_MS, waitReplicas: 1, logger: silent }),
    )
    const hold = call()
    await waiting.charges.open(hold)
    // A replica that has just come receives its first writes up to a second later.
    const record = () => waiting.charges.record(recorded(hold)).catch(() => 'refused')
    await expect.poll(record).toBe('recorded')
    await watched.kill()
    await watched.promote()
    const other = { ...call('other'), claim: hold.claim }
    const opened = () =>
      waiting.charges.open(other).then(
        ({ verdict }) => verdict,
        () => 'refused',
      )
    await expect.poll(opened).toBe('inProgress')
    expect(await waiting.charges.close({ ...hold, how: 'complete', retentionMs: LEASE_MS })).toBe('closed')
    await expect.poll(opened).toBe('replayable')
  }, 120_000)
})

describe('asked of what cannot wait', () => {
  it('refuses a Cluster and what is no count', () => {
    const cluster = new Cluster([], { lazyConnect: true })
    expect(() => redisStores(cluster, { waitReplicas: 1 })).toThrow('not for a Redis Cluster')
    for (const waitReplicas of [-1, 0.5, Number.NaN]) {
      expect(() => redisStores(pair.url, { waitReplicas })).toThrow('waitReplicas is a whole number from 0')
    }
  })
})

describe('a connection that is lost', () => {
  it('between a write and its confirmation: another server’s replicas confirm nothing', async () => {
    const client = new EventEmitter()
    const wait = { wait: async () => 1 }
    const connection = {
      client,
      commandTimeoutMs: 1_000,
      send: async (command: (redis: typeof wait) => unknown) => command(wait),
      script: () => async () => {
        client.emit('close')
        return 'recorded'
      },
    }
    const { script, send } = replicated(connection as unknown as Connection, 1)
    await expect(script('record', '')([], [])).rejects.toThrow('connection was lost')
    expect(await send(async () => 'written')).toBe('written')
  })
})
