/** Every port's contract on the memory adapters, and what only they promise: bounded memory. */

import { describe, expect, it } from 'vitest'
import { sharedWindows } from '../../proof/simulation/stores/shared-windows.js'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memoryRuns } from '../../src/adapters/memory/recent-runs.js'
import { memorySpendLedger } from '../../src/adapters/memory/spend-ledger.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { memoryTasks } from '../../src/adapters/memory/task-store.js'
import { LAPSED_KEPT_MS } from '../../src/domain/machines/claim-and-payment.rules.js'
import { perMinute } from '../../src/ports/counters.js'
import { PAYMENT_LIFE_MAX_MS } from '../../src/ports/spend-ledger.js'
import {
  balancesContract,
  boundedChargeStoreContract,
  chargeStoreContract,
  countersContract,
  runsContract,
  spendContract,
  subscriptionsContract,
  tasksContract,
} from '../../src/testing.js'
import { rareCases } from './charge-store/rare.cases.js'

const runner = { describe, expect, it }

function testClock(startMs = Date.UTC(2026, 0, 1)) {
  let nowMs = startMs
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { now: () => nowMs, monotonic: () => nowMs, advance }
}

const makeChargeStore = (max?: number) => () => {
  const clock = testClock()
  return { store: memoryChargeStore({ clock, max, callsMax: max }), advance: clock.advance, leaseMs: 1_000 }
}

chargeStoreContract(runner, 'memory', makeChargeStore())
balancesContract(runner, 'memory', makeChargeStore())
rareCases(runner, 'memory', makeChargeStore())
boundedChargeStoreContract(runner, 'memory', makeChargeStore(3), 3)
boundedChargeStoreContract(runner, 'memory', makeChargeStore(50), 50)

subscriptionsContract(runner, 'memory', () => {
  const clock = testClock()
  return { store: memorySubscriptions({ clock }), ...clock, windowMs: 1_500, inProcess: true }
})

subscriptionsContract(runner, 'the simulation', () => {
  const clock = testClock()
  return { store: sharedWindows(clock.now), ...clock, windowMs: 1_500 }
})

countersContract(runner, 'memory', () => {
  const clock = testClock()
  return { counters: memoryCounters({ clock }), advance: clock.advance, periodMs: 60_000 }
})

runsContract(runner, 'memory', memoryRuns)

tasksContract(runner, 'memory', () => {
  const clock = testClock()
  return { store: memoryTasks({ clock }), advance: clock.advance, lifeMs: 300_000 }
})

spendContract(runner, 'memory', () => {
  const clock = testClock()
  const advance = clock.advance
  return { ledger: memorySpendLedger(clock), advance, windowMs: 86_400_000, lifeMs: PAYMENT_LIFE_MAX_MS }
})

describe('memory is bounded', () => {
  const hold = (at: number) => ({
    slot: 's',
    token: `t${at}`,
    claim: { name: `k${at}`, bodyHash: 'b' },
    payment: `p${at}`,
  })

  it('abandoned claims are collected: they fill the store only until their leases are long over', async () => {
    const clock = testClock()
    const store = memoryChargeStore({ clock, callsMax: 100 })
    for (let at = 0; at < 100; at++) await store.open({ ...hold(at), leaseMs: 1_000 })
    expect((await store.open({ ...hold(100), leaseMs: 1_000 })).verdict).toBe('full')
    clock.advance(120_000)
    expect((await store.open({ ...hold(100), leaseMs: 1_000 })).verdict).toBe('opened')
  })

  it('a payment is forgotten when it can no longer land, and a claim when nothing is owed', async () => {
    const clock = testClock()
    const store = memoryChargeStore({ clock, callsMax: 1 })
    const call = hold(0)
    await store.open({ ...call, leaseMs: 1_000 })
    const recorded = { answer: new Uint8Array(1) }
    await store.record({ ...call, recorded, leaseMs: 1_000, paymentTtlMs: 10_000, claimTtlMs: 20_000 })
    clock.advance(10_000)
    const keyless = { ...call, token: 'other', claim: undefined }
    expect((await store.open({ ...keyless, leaseMs: 1_000 })).verdict).toBe('opened')
    await store.close({ ...keyless, how: 'release', retentionMs: 0 })
    const again = { ...hold(0), token: 'again', payment: 'another', leaseMs: 1_000 }
    expect((await store.open(again)).verdict).toBe('orphaned')
    clock.advance(12_000)
    expect((await store.open({ ...again, token: 'later' })).verdict).toBe('opened')
  })

  it('full of answers in doubt admits nothing new until one is proved dead, and still gives every answer that is owed', async () => {
    const clock = testClock()
    const store = memoryChargeStore({ clock, settlingBytesMax: 4 * (30_000 + 1_750) })
    const settle = async (at: number) => {
      await store.open({ ...hold(at), leaseMs: 1_000 })
      const payment = { txId: `p${at}`, firstValid: 1n, lastValid: 2n }
      const recorded = { answer: new Uint8Array(30_000), payment }
      const move = { ...hold(at), recorded, leaseMs: 1_000, paymentTtlMs: 10_000, claimTtlMs: 20_000 }
      // Sent again, it is counted once.
      for (const again of [move, move]) await store.record(again)
    }
    for (const at of [0, 1, 2]) await settle(at)
    expect((await store.open({ ...hold(3), leaseMs: 1_000 })).verdict).toBe('opened')
    await settle(3)
    expect((await store.open({ ...hold(4), leaseMs: 1_000 })).verdict).toBe('full')
    clock.advance(1_000)
    for (const at of [0, 1]) {
      const retry = { ...hold(at), token: 'retry', leaseMs: 1_000 }
      expect((await store.open(retry)).verdict).toBe('orphaned')
      const verdict = at === 0 ? ('found' as const) : ('dead' as const)
      await store.resolve({ ...retry, txId: `p${at}`, verdict, retentionMs: 5_000 })
      expect((await store.open({ ...retry, token: 'late' })).verdict).toBe(
        at === 0 ? 'replayable' : 'inProgress',
      )
    }
    expect((await store.open({ ...hold(4), leaseMs: 1_000 })).verdict).toBe('opened')
    await settle(5)
    await settle(6)
    expect((await store.open({ ...hold(7), leaseMs: 1_000 })).verdict).toBe('full')
    clock.advance(20_000)
    expect((await store.open({ ...hold(7), leaseMs: 1_000 })).verdict).toBe('opened')
  })

  it('payments come and go in constant time each, however many there are', async () => {
    /** By the CPU's time, because a busy machine gives a test little of its own. */
    async function costOf(paymentsAtOnce: number): Promise<number> {
      const clock = testClock()
      const store = memoryChargeStore({ clock })
      const begun = process.cpuUsage()
      for (let at = 0; at < 30_000; at++) {
        const { slot, token, payment } = hold(at)
        await store.open({ slot, token, payment, leaseMs: 1_000 })
        clock.advance((1_000 + LAPSED_KEPT_MS) / paymentsAtOnce)
      }
      const { user, system } = process.cpuUsage(begun)
      return user + system
    }
    const few = await costOf(100)
    expect(await costOf(10_000)).toBeLessThan(5 * few)
  })

  it('a clock that is set back loses nothing', async () => {
    const clock = testClock()
    const store = memoryChargeStore({ clock })
    clock.advance(3_600_000)
    await store.open({ ...hold(0), leaseMs: 1_000 })
    clock.advance(-3_600_000)
    expect((await store.open({ ...hold(0), token: 'other', leaseMs: 1_000 })).verdict).toBe('inProgress')
    await store.open({ ...hold(1), leaseMs: 1_000 })
    clock.advance(2_000)
    expect((await store.open({ ...hold(1), token: 'other', leaseMs: 1_000 })).verdict).toBe('opened')
  })

  it('a million identities are counted in the room of 10,000, and the busy ones are not forgotten', () => {
    const limit = memoryCounters({ clock: testClock(), max: 10_000 })
    for (let at = 0; at < 1_000_000; at++) {
      limit.take(`identity ${at}`, perMinute(1))
      if (at % 1_000 === 0) limit.take('busy', perMinute(3))
    }
    expect(limit.take('busy', perMinute(3))).toMatchObject({ admitted: false })
    expect(limit.take('identity 0', perMinute(1))).toEqual({ admitted: true })
    expect(limit.take('identity 999999', perMinute(1))).toMatchObject({ admitted: false })
  })

  it('of 101,000 open payments the oldest count as spent, and all are counted', () => {
    const clock = testClock()
    const ledger = memorySpendLedger(clock)
    for (let at = 0; at < 101_000; at++) {
      const payment = { network: 'testnet', txId: `tx ${at}`, firstValid: 1n, lastValid: BigInt(at) } as const
      ledger.reserve({ id: `id ${at}`, amount: 1n }, undefined)
      ledger.attach(`id ${at}`, payment)
      clock.advance(10)
    }
    expect(ledger.spentBaseUnits).toBe(101_000n)
    expect(ledger.due('testnet', 2n ** 40n, 1)).toMatchObject([{ id: 'id 1000' }])
    expect(ledger.due('testnet', 2n ** 40n, 200_000)).toHaveLength(100_000)
    ledger.settle('id 0', 'dead')
    expect(ledger.spentBaseUnits).toBe(101_000n)
    clock.advance(86_400_000 + PAYMENT_LIFE_MAX_MS)
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it('completed tasks are kept up to their bound, the newest of them', async () => {
    const store = memoryTasks({ clock: testClock(), completedMax: 3 })
    const content = new Uint8Array(1)
    for (let at = 0; at < 5; at++) {
      const name = `task ${at}`
      await store.put({ name, content, owner: 'me', lifeMs: 1_000, ownerMax: 1, max: 1 })
      await store.take({ name, payment: 'P', token: 't', lifeMs: 1_000 })
      await store.end({ name, how: 'completed', payment: 'P', lifeMs: 1_000 })
    }
    const found = await Promise.all([0, 1, 2, 3, 4].map(at => store.get(`task ${at}`)))
    expect(found.map(task => task !== undefined)).toEqual([false, false, true, true, true])
  })

  it('the verdicts of a hundred thousand sold windows are kept until each ends', () => {
    const clock = testClock()
    const store = memorySubscriptions({ clock })
    for (let at = 0; at < 100_000; at++) {
      store.putIfAbsent(`id ${at}`, { endpoint: 'a', expiresAtMs: clock.now() + 1_000 + at })
    }
    clock.advance(51_000)
    store.sweep()
    expect(store.get('id 49999')).toBeUndefined()
    expect(store.get('id 50001')).toMatchObject({ endpoint: 'a' })
  })
})
