/** Credit for a run, by itself on virtual time: whose it is, how long one is waited for, and what the end of a call gives back. */
import { describe, expect, it } from 'vitest'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import type { ChargeDeps } from '../../src/app/charge/charge-deps.js'
import { credit, settleCredit } from '../../src/app/charge/effects/credit.js'
import { creditorName, ownerOf } from '../../src/app/charge/names-in-stores.js'
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import { TESTNET } from '../../src/domain/network.js'
import { fieldsOf } from '../support/call-fields.js'
import { ADDRESS, DOWN, type Given, oneCall, START_MS } from '../support/one-call.js'

const CREDITOR = 'SELLER:PAYER'
const TERMS = { max: 1, floor: -2, periodMs: 3_600_000, isRenewed: true }

/** A credit store that is asked over a network, and says when. */
function asked(answers: (atMs: number) => boolean, isRemote = true) {
  const takesMs: number[] = []
  let nowMs = () => 0
  const take = () => {
    takesMs.push(nowMs())
    const granted = answers(nowMs())
    return isRemote ? Promise.resolve(granted).then(admitted => ({ admitted })) : { admitted: granted }
  }
  return {
    takesMs,
    call(given: Given = {}) {
      const scene = oneCall({
        paid: {},
        ...given,
        world: { credit: { take } as unknown as ChargeDeps['credit'] },
      })
      nowMs = () => scene.timeline.nowMs - START_MS
      return scene
    },
  }
}

describe('a run', () => {
  it('needs no credit where the seller asks for none', async () => {
    const { ended, call } = oneCall({ rules: { credit: undefined }, world: { credit: DOWN } })
    expect(await ended(credit)).toEqual({ answer: 'credited', ms: 0 })
    expect(call.holds.creditor).toBeUndefined()
  })

  it('is on the credit of its payer, or of its address where none can be read', async () => {
    for (const [given, payer] of [
      [{ paid: {} }, 'PAYER'],
      [{ paid: 'unreadable' }, ADDRESS],
      [{ paid: 'unreadable', request: { clientAddress: '2001:db8::1' } }, '2001:db8:0:0::/64'],
    ] as const) {
      const store = memoryCounters({ clock: { monotonic: () => 0 }, max: 10 })
      const { ended, call, world } = oneCall({ ...given, world: { credit: store } })
      expect(await ended(credit)).toEqual({ answer: 'credited', ms: 0 })
      expect(call.holds.creditor).toBe(creditorName(world.owner, payer))
      expect(store.take(call.holds.creditor!, TERMS).admitted).toBe(false)
      const sister = ownerOf(TESTNET, 'SISTER', 'agent')
      expect(store.take(creditorName(sister, payer), TERMS).admitted).toBe(true)
    }
  })

  it.each([true, false])(
    'without credit asks again until its patience ends, on a network: %s',
    async isRemote => {
      const { takesMs, call: begun } = asked(() => false, isRemote)
      const { ended, call } = begun()
      expect(await ended(credit)).toEqual({ answer: 'exhausted', ms: 5_000 })
      expect(takesMs).toEqual(Array.from({ length: 21 }, (_, at) => 250 * at))
      expect(fieldsOf(call)).toMatchObject({ creditor: undefined, retryAfterMs: 5_000 })
    },
  )

  it('waits no longer than it may, be that no multiple of its pauses', async () => {
    const { takesMs, call } = asked(() => false)
    const { rules } = oneCall().world
    const { ended } = call({ rules: { timeouts: { ...rules.timeouts, creditMs: 600 } } })
    expect(await ended(credit)).toEqual({ answer: 'exhausted', ms: 600 })
    expect(takesMs).toEqual([0, 250, 500, 600])
  })

  it.each([true, false])('begins as soon as credit is there, on a network: %s', async isRemote => {
    const { ended, call, world } = asked(atMs => atMs >= 500, isRemote).call()
    expect(await ended(credit)).toEqual({ answer: 'credited', ms: 500 })
    expect(fieldsOf(call)).toMatchObject({
      creditor: creditorName(world.owner, 'PAYER'),
      retryAfterMs: undefined,
    })
  })

  it.each<[string, 'hangUp' | 'cut', string]>([
    ['a caller who hung up', 'hangUp', 'abandoned'],
    ['a server that stops', 'cut', 'stopped'],
  ])('is not on the credit of %s', async (_, ends, answer) => {
    const { takesMs, call: begun } = asked(atMs => atMs > 0)
    const { ended, timeline, call, [ends]: end } = begun()
    timeline.after(100, end)
    expect(await ended(credit)).toEqual({ answer, ms: 250 })
    expect(takesMs).toEqual([0])
    expect(call.holds.creditor).toBeUndefined()
  })

  it('is not made while the store is silent, at first or later', async () => {
    const down = oneCall({ paid: {}, world: { credit: DOWN } })
    expect(await down.ended(credit)).toEqual({ answer: 'storeDown', ms: 0 })
    expect(fieldsOf(down.call)).toMatchObject({ creditor: undefined, problem: { code: 'store_unavailable' } })
    const later = asked(atMs => {
      if (atMs > 0) return Promise.reject(new Error('down')) as never
      return false
    }).call()
    expect(await later.ended(credit)).toEqual({ answer: 'storeDown', ms: 250 })
  })
})

describe('the end of a call', () => {
  it.each<[ChargeFinal, number[]]>([
    ['settled', [2]],
    ['failed', [1]],
    ['unsettled', []],
    ['served', [2]],
  ])('gives back what its run has earned: %s', (final, runs) => {
    const given: unknown[][] = []
    const give = (...gift: unknown[]) => void given.push(gift)
    const { world, call } = oneCall({
      rules: { credit: TERMS },
      world: { credit: { giveBack: give } as unknown as ChargeDeps['credit'] },
    })
    call.holds.creditor = CREDITOR
    settleCredit(world, call, final)
    expect(given).toEqual(runs.map(count => [CREDITOR, count, TERMS]))
  })

  it('gives nothing to nobody, and what a paid call has earned once: not where another call may have found its payment', () => {
    const given: unknown[] = []
    const lapsed = new Set(['LAPSED'])
    const { world, call } = oneCall({
      rules: { credit: TERMS },
      world: {
        credit: {
          giveBack: (_: string, count: number) => void given.push(count),
        } as unknown as ChargeDeps['credit'],
        leases: { mayHaveLapsed: (token: string) => lapsed.has(token) } as never,
      },
    })
    settleCredit(world, call, 'settled')
    expect(given).toEqual([])
    call.holds.creditor = CREDITOR
    call.holds.owned = { hold: { token: 'LAPSED' } } as never
    settleCredit(world, call, 'settled')
    expect(given).toEqual([])
    settleCredit(world, call, 'failed')
    expect(given).toEqual([1])
    call.holds.owned = { hold: { token: 'LIVES' } } as never
    settleCredit(world, call, 'settled')
    expect(given).toEqual([1, 2])
  })

  it.each<[string, () => Promise<void>]>([
    ['rejects', () => Promise.reject(new Error('down'))],
    [
      'throws',
      () => {
        throw new Error('down')
      },
    ],
  ])('does not hang on a store that %s', async (_, give) => {
    const { world, call, said } = oneCall({
      world: { credit: { giveBack: give } as unknown as ChargeDeps['credit'] },
    })
    call.holds.creditor = CREDITOR
    settleCredit(world, call, 'settled')
    await new Promise(setImmediate)
    expect(said).toHaveLength(1)
  })
})
