/** What gives money back is a proof: everything short of it leaves the payment counted. */
import { describe, expect, it } from 'vitest'
import type { Algod, Indexer } from '../../src/adapters/algorand/algod-and-indexer.js'
import { type LateSettlementsOptions, lateSettlements } from '../../src/app/client/late-settlements.js'
import { memorySpendLedger } from '../../src/client.js'
import { type NetworkKey, TESTNET } from '../../src/domain/network.js'
import { systemClock as clock } from '../../src/ports/clock.js'
import type { SpendEnd, SpendLedger } from '../../src/ports/spend-ledger.js'
import { down, indexAt as index, emptyNode as node, otherNetwork } from '../support/empty-node.js'
import { gate } from '../support/gate.js'

const txIdOf = (id: string) => id.toUpperCase().padEnd(52, 'A')

async function open(
  ledger: SpendLedger,
  id: string,
  window: [bigint, bigint],
  network: NetworkKey = 'testnet',
) {
  const [firstValid, lastValid] = window
  await ledger.reserve({ id, amount: 1n }, undefined)
  await ledger.attach(id, { network, txId: txIdOf(id), firstValid, lastValid })
}

/** Settles one payment of the window; how it ended, if it did, and whether it is still counted. */
async function settled(
  changes: Partial<Algod>,
  window: [bigint, bigint] = [100n, 110n],
  options: Partial<LateSettlementsOptions> = {},
) {
  const ledger = memorySpendLedger()
  await open(ledger, 'a', window)
  const ends: SpendEnd[] = []
  const told = (txId: string, end: SpendEnd) => {
    expect(txId).toBe(txIdOf('a'))
    ends.push(end)
  }
  await lateSettlements({
    clock,
    ledger,
    network: TESTNET,
    algod: node(changes),
    settled: told,
    ...options,
  }).settle()
  return { ends, counted: ledger.spentBaseUnits, open: (await ledger.due('testnet', 2n ** 50n, 9)).length }
}

const DEAD = { ends: ['dead'], counted: 0n, open: 0 }
const SPENT = { ends: ['spent'], counted: 1n, open: 0 }
const OPEN = { ends: [], counted: 1n, open: 1 }

describe('an open payment', () => {
  const ours = txIdOf('a')
  it.each<[string, typeof DEAD, Partial<Algod>]>([
    ['is dead where all its blocks answer and none has it', DEAD, {}],
    ['is spent where a block has it', SPENT, { blockTxIds: async r => (r === 103n ? ['X', ours] : ['X']) }],
    [
      'is spent where the node knows it as landed',
      SPENT,
      { confirmedRound: async () => 105n, blockTxIds: down },
    ],
    [
      'stays open where the node knows it no more and one block does not answer',
      OPEN,
      { blockTxIds: async r => (r === 107n ? down() : []) },
    ],
    ['stays open in its last round', OPEN, { lastRound: async () => 110n }],
    ['stays open where the node does not tell its round', OPEN, { lastRound: down }],
    ['stays open where the node is of another network', OPEN, { suggestedParams: otherNetwork }],
  ])('%s', async (_, outcome, changes) => {
    expect(await settled(changes)).toEqual(outcome)
  })

  it.each<[string, typeof DEAD, Indexer | undefined]>([
    ['stays open without an indexer', OPEN, undefined],
    ['is dead where an indexer is past it', DEAD, index(false, 1_100n)],
    ['stays open where the indexer is not', OPEN, index(false, 1_099n)],
    ['is spent where an indexer has it', SPENT, index(true, 1_099n)],
  ])('of a window too wide to be read %s', async (_, outcome, indexer) => {
    const algod = { lastRound: async () => 1_150n, blockTxIds: down }
    expect(await settled(algod, [100n, 1_099n], { indexer })).toEqual(outcome)
  })

  it.each<[string, Partial<Algod>]>([
    ['its round', { lastRound: async () => 50_000_000n, suggestedParams: node().suggestedParams }],
    ['its round and its network', { lastRound: async () => 50_000_000n, suggestedParams: otherNetwork }],
  ])('is looked up again in time where one answer is of another network: %s', async (_, foreign) => {
    const ledger = memorySpendLedger()
    await open(ledger, 'due', [100n, 110n])
    await open(ledger, 'not due', [105n, 115n])
    const { suggestedParams } = node({ lastRound: async () => 111n })
    const unproven = { suggestedParams, blockTxIds: down, ...foreign }
    await lateSettlements({
      clock,
      ledger,
      network: TESTNET,
      algod: node(unproven),
      settled: () => {},
    }).settle()
    expect(await ledger.due('testnet', 122n, 9)).toHaveLength(2)
    const algod = node({ lastRound: async () => 122n })
    await lateSettlements({ clock, ledger, network: TESTNET, algod, settled: () => {} }).settle()
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it.each([
    [50_000_000n, 111n],
    [111n, 50_000_000n],
  ])(
    'without proof is looked up again ten rounds after the smaller of both answers: %i and %i',
    async (...rounds) => {
      const [first, checked] = rounds
      const ledger = memorySpendLedger()
      await open(ledger, 'a', [100n, 110n])
      const { suggestedParams } = node({ lastRound: async () => checked })
      const algod = node({ lastRound: async () => first, suggestedParams, blockTxIds: down })
      await lateSettlements({ clock, ledger, network: TESTNET, algod, settled: () => {} }).settle()
      expect(await ledger.due('testnet', 121n, 9)).toEqual([])
      expect(await ledger.due('testnet', 122n, 9)).toHaveLength(1)
    },
  )

  it('that is none costs the node one question', async () => {
    let asked = 0
    const counted = <T>(answer: T) => {
      asked++
      return answer
    }
    const algod = node({ lastRound: async () => counted(111n), suggestedParams: () => counted(down()) })
    const ledger = memorySpendLedger()
    await lateSettlements({ clock, ledger, network: TESTNET, algod, settled: () => {} }).settle()
    expect(asked).toBe(1)
  })

  it('of another network is not asked about: its rounds are others', async () => {
    const ledger = memorySpendLedger()
    await open(ledger, 'a', [1n, 5n], 'mainnet')
    await lateSettlements({ clock, ledger, network: TESTNET, algod: node(), settled: () => {} }).settle()
    expect(ledger.spentBaseUnits).toBe(1n)
  })
})

describe('many open payments', () => {
  it('share what is read: each block once, the network once', async () => {
    const ledger = memorySpendLedger()
    for (let at = 0; at < 60; at++) await open(ledger, `${at}`, [100n, 110n])
    const asked: string[] = []
    const algod = node()
    const counted = node({
      async suggestedParams() {
        asked.push('params')
        return algod.suggestedParams()
      },
      async lastRound() {
        asked.push('round')
        return algod.lastRound()
      },
      async blockTxIds(round) {
        asked.push(`block ${round}`)
        return []
      },
    })
    const late = lateSettlements({ clock, ledger, network: TESTNET, algod: counted, settled: () => {} })
    await Promise.all([late.settle(), late.settle()])
    expect(ledger.spentBaseUnits).toBe(0n)
    const blocks = Array.from({ length: 11 }, (_, at) => `block ${100 + at}`)
    expect(asked.sort()).toEqual([...blocks, 'params', 'round'].sort())
  })

  it('that cannot be proved do not keep others from being settled', async () => {
    const ledger = memorySpendLedger()
    for (let at = 0; at < 200; at++) await open(ledger, `wide ${at}`, [1n, 100n + 50n])
    await open(ledger, 'narrow', [140n, 150n])
    const algod = node({
      lastRound: async () => 160n,
      blockTxIds: async round => (round < 140n ? down() : []),
    })
    const late = lateSettlements({ clock, ledger, network: TESTNET, algod, settled: () => {} })
    await late.settle()
    expect(ledger.spentBaseUnits).toBe(200n)
    // They are looked up again later, not by each call that needs room.
    expect(await ledger.due('testnet', 160n, 1_000)).toEqual([])
    expect(await ledger.due('testnet', 171n, 1_000)).toHaveLength(200)
  })

  it('are looked up for a bounded time', async () => {
    const ledger = memorySpendLedger()
    await open(ledger, 'a', [100n, 110n])
    const answered = gate()
    const algod = node({ blockTxIds: () => answered.opened.then(() => []) })
    const late = lateSettlements({
      // Only its timer ends the waiting: a machine that stands still would begin no look-up.
      clock: { ...clock, monotonic: () => 0 },
      ledger,
      network: TESTNET,
      algod,
      settled: () => {},
      settlingMaxMs: 20,
    })
    await late.settle()
    expect(ledger.spentBaseUnits).toBe(1n)
    answered.open()
    await expect.poll(() => ledger.spentBaseUnits).toBe(0n)
  })

  it('are looked up no more from the moment on when that time is over', async () => {
    const ledger = memorySpendLedger()
    for (let at = 0; at < 100; at++) await open(ledger, `${at}`, [100n, 110n])
    let nowMs = 0
    const standing = { ...clock, monotonic: () => nowMs }
    // Four are looked up at once, which takes exactly the five seconds.
    const confirmedRound = async () => {
      nowMs += 1_250
      return 105n
    }
    const ends: SpendEnd[] = []
    const late = lateSettlements({
      clock: standing,
      ledger,
      network: TESTNET,
      algod: node({ confirmedRound }),
      settled: (_, end) => ends.push(end),
    })
    await late.settle()
    expect(ends).toHaveLength(4)
  })

  it('leave no timer behind', async () => {
    let waiting = 0
    const after = () => {
      waiting++
      return () => {
        waiting--
      }
    }
    const late = lateSettlements({
      clock: { ...clock, after },
      ledger: memorySpendLedger(),
      network: TESTNET,
      algod: node(),
      settled: () => {},
    })
    const settled = late.settle()
    expect(waiting).toBeGreaterThan(0)
    await settled
    expect(waiting).toBe(0)
  })

  it('of wide windows are held against one round of the node, also the second', async () => {
    const ledger = memorySpendLedger()
    for (const id of ['a', 'b', 'c']) await open(ledger, id, [100n, 1_099n])
    const algod = node({ lastRound: async () => 1_150n, blockTxIds: down })
    const indexer = index(false, 1_100n)
    await lateSettlements({ clock, ledger, network: TESTNET, algod, indexer, settled: () => {} }).settle()
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it('are settled once by processes that look at the same time', async () => {
    const ledger = memorySpendLedger()
    for (let at = 0; at < 20; at++) await open(ledger, `${at}`, [100n, 110n])
    const make = () => lateSettlements({ clock, ledger, network: TESTNET, algod: node(), settled: () => {} })
    await Promise.all([make(), make(), make()].map(({ settle }) => settle()))
    expect(ledger.spentBaseUnits).toBe(0n)
    expect(ledger.reserve({ id: 'b', amount: 5n }, 5n)).toBe(true)
    expect(ledger.reserve({ id: 'c', amount: 1n }, 5n)).toBe(false)
  })
})
