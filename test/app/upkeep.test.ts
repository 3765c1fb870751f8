/** What is kept up in the background, on virtual time: leases, closing moves that are sent again, payments in doubt. */
import { describe, expect, it } from 'vitest'
import { Timeline } from '../../proof/simulation/kernel/timeline.js'
import { leasesIn } from '../../src/app/charge/leases.js'
import { paymentsInDoubt } from '../../src/app/charge/look-up-payments-in-doubt.js'
import { pendingCloses, pendingWindowMoves, type WindowMove } from '../../src/app/charge/resend-lost-moves.js'
import type { Landing } from '../../src/ports/chain.js'
import type { ChargeStore, CloseMove, Hold, Resolved, ResolveMove } from '../../src/ports/charge-store.js'
import { clockOf } from '../support/virtual-clock.js'

const LEASE_MS = 15_000
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const hold = (token: string): Hold => ({ slot: 'PAYER', token })
const move = (token: string, how: CloseMove['how'] = 'complete'): CloseMove => ({
  ...hold(token),
  how,
  retentionMs: 1,
})

function leasing() {
  const timeline = new Timeline()
  const renewals: { readonly tokens: string[]; readonly atMs: number; readonly leaseMs: number }[] = []
  const store = { answers: async (holds: readonly Hold[]) => holds.map(() => true) }
  const renew: ChargeStore['renew'] = async (holds, leaseMs) => {
    renewals.push({ tokens: holds.map(({ token }) => token), atMs: timeline.nowMs, leaseMs })
    return store.answers(holds)
  }
  const leases = leasesIn({ renew } as ChargeStore, LEASE_MS, SILENT, clockOf(timeline))
  return { timeline, renewals, store, leases }
}

describe('a lease', () => {
  it('is renewed three times in its length, with all others in one trip, until its call ends', async () => {
    const { timeline, renewals, leases } = leasing()
    leases.keep(hold('one'), 0)
    leases.keep(hold('two'), 0)
    await timeline.run(10_000)
    expect(renewals).toEqual([
      { tokens: ['one', 'two'], atMs: 5_000, leaseMs: LEASE_MS },
      { tokens: ['one', 'two'], atMs: 10_000, leaseMs: LEASE_MS },
    ])
    leases.drop('one')
    await timeline.run(15_000)
    expect(renewals.at(-1)!.tokens).toEqual(['two'])
    leases.drop('two')
    await timeline.run(60_000)
    expect(renewals).toHaveLength(3)
    // Nobody asks for nothing, and there is no timer left.
    expect(timeline.isEmpty).toBe(true)
    leases.keep(hold('three'), 60_000)
    await timeline.run(65_000)
    expect(renewals.at(-1)).toMatchObject({ tokens: ['three'], atMs: 65_000 })
  })

  it('may have lapsed when it was not renewed for its length, by the moment when that was asked', async () => {
    const { timeline, store, leases } = leasing()
    expect(leases.mayHaveLapsed('one')).toBe(true)
    leases.keep(hold('one'), 0)
    // Asked at 5 s, answered at 7 s.
    store.answers = async holds => {
      await new Promise<void>(resolve => timeline.after(2_000, resolve))
      return holds.map(() => true)
    }
    await timeline.run(7_000)
    store.answers = () => Promise.reject(new Error('down'))
    await timeline.run(19_999)
    expect(leases.mayHaveLapsed('one')).toBe(false)
    await timeline.run(20_000)
    expect(leases.mayHaveLapsed('one')).toBe(true)
    store.answers = async () => [true]
    await timeline.run(25_000)
    expect(leases.mayHaveLapsed('one')).toBe(false)
  })

  it('that another call took is given up, and no other; not where the token got a later hold meanwhile', async () => {
    const { timeline, renewals, store, leases } = leasing()
    for (const token of ['one', 'two', 'three']) leases.keep(hold(token), 0)
    store.answers = async holds => {
      if (renewals.length === 1) leases.keep(hold('three'), timeline.nowMs)
      return holds.map(({ token }) => token === 'two')
    }
    await timeline.run(5_000)
    expect(['one', 'two', 'three'].map(leases.mayHaveLapsed)).toEqual([true, false, false])
    await timeline.run(10_000)
    expect(renewals.at(-1)!.tokens).toEqual(['two', 'three'])
  })

  it('that is passed on lapses at once, and is not renewed again', async () => {
    const { timeline, renewals, leases } = leasing()
    leases.keep(hold('one'), 0)
    leases.pass('one')
    leases.pass('unknown')
    await timeline.run(60_000)
    expect(renewals).toEqual([{ tokens: ['one'], atMs: 0, leaseMs: 1 }])
    expect(leases.mayHaveLapsed('one')).toBe(true)
  })

  it('is not renewed by a server that has closed', async () => {
    const { timeline, renewals, leases } = leasing()
    leases.close()
    leases.keep(hold('one'), 0)
    leases.close()
    await timeline.run(60_000)
    expect(renewals).toEqual([])
  })
})

function closing() {
  const timeline = new Timeline()
  const sent: { readonly token: string; readonly atMs: number }[] = []
  const store = { isDown: true, tookMs: 0 }
  const close: ChargeStore['close'] = async ({ token }) => {
    sent.push({ token, atMs: timeline.nowMs })
    if (store.tookMs > 0) await new Promise<void>(resolve => timeline.after(store.tookMs, resolve))
    if (store.isDown) throw new Error('down')
    return 'superseded'
  }
  const dropped: string[] = []
  const drop = (token: string) => void dropped.push(token)
  const pending = pendingCloses({ close } as ChargeStore, { drop }, SILENT, clockOf(timeline))
  return { timeline, sent, dropped, store, pending }
}

const timesOf = (sent: readonly { readonly atMs: number }[]) => sent.map(({ atMs }) => atMs)
const tokensOf = (sent: readonly { readonly token: string }[]) => sent.map(({ token }) => token)

describe('a closing move', () => {
  it('is sent after pauses that double up to five seconds, until the store answers; the next begins anew', async () => {
    const { timeline, sent, store, pending } = closing()
    pending.add(move('one'))
    await timeline.run(14_000)
    expect(timesOf(sent)).toEqual([250, 750, 1_750, 3_750, 7_750, 12_750])
    store.isDown = false
    await timeline.run(100_000)
    expect(sent).toHaveLength(7)
    expect(timeline.isEmpty).toBe(true)
    store.isDown = true
    pending.add(move('two'))
    pending.add(move('three'))
    await timeline.run(100_800)
    expect(timesOf(sent.slice(7))).toEqual([100_250, 100_750, 100_750])
  })

  it('is sent alone at first; when the store answers, the others follow in order, 32 at once, and it is the last', async () => {
    const { timeline, sent, store, pending } = closing()
    const tokens = Array.from({ length: 40 }, (_, at) => `${at}`)
    for (const token of tokens) pending.add(move(token))
    await timeline.run(400)
    expect(tokensOf(sent)).toEqual(['0'])
    store.isDown = false
    await timeline.run(800)
    expect(tokensOf(sent.slice(1))).toEqual([...tokens.slice(1), '0'])
    expect(new Set(timesOf(sent.slice(1)))).toEqual(new Set([750]))
  })

  it.each([
    [1, 750],
    [2, 1_000],
    [40, 13_000],
  ])(
    'that the store always rejects holds up no other: after %i of them all are sent in %i ms',
    async (count, inMs) => {
      const timeline = new Timeline()
      const answered: string[] = []
      let asked = 0
      const close: ChargeStore['close'] = async ({ token }) => {
        asked++
        if (token.startsWith('rejected')) throw new Error('too large')
        answered.push(token)
        return 'closed'
      }
      const pending = pendingCloses({ close } as ChargeStore, { drop() {} }, SILENT, clockOf(timeline))
      for (let at = 0; at < count; at++) pending.add(move(`rejected ${at}`))
      const tokens = Array.from({ length: 100 }, (_, at) => `${at}`)
      for (const token of tokens) pending.add(move(token))
      await timeline.run(inMs)
      expect(answered).toEqual(tokens)
      await timeline.run(60_000)
      pending.add(move('later'))
      await timeline.run(120_000)
      expect(answered.at(-1)).toBe('later')
      // They are still asked about, and the store gets a bounded number of requests for them.
      const before = asked
      await timeline.run(180_000)
      expect(asked - before).toBeGreaterThan(0)
      expect(asked - before).toBeLessThanOrEqual(12 * Math.min(count, 32))
    },
  )

  it('that comes while another is asked about begins no second round while others wait', async () => {
    const { timeline, sent, store, pending } = closing()
    store.tookMs = 10_000
    pending.add(move('one'))
    pending.add(move('two'))
    await timeline.run(300)
    pending.add(move('three'))
    await timeline.run(10_000)
    expect(tokensOf(sent)).toEqual(['one'])
  })

  it('that comes while the only other one is asked about waits with it', async () => {
    const { timeline, sent, store, pending } = closing()
    store.tookMs = 1_000
    pending.add(move('one'))
    await timeline.run(300)
    pending.add(move('two'))
    await timeline.run(10_000)
    const times = timesOf(sent)
    expect(times).toEqual([250, 1_750, 1_750, 3_750, 3_750, 6_750, 6_750])
    pending.close()
    await timeline.run(60_000)
    expect(sent).toHaveLength(times.length)
  })

  it('that is lost after its server has closed is not sent again', async () => {
    const { timeline, sent, store, pending } = closing()
    store.tookMs = 1_000
    pending.add(move('one'))
    await timeline.run(300)
    pending.close()
    await timeline.run(60_000)
    expect(sent).toHaveLength(1)
  })

  it('keeps the lease of its call until the store answers', async () => {
    const { timeline, dropped, store, pending } = closing()
    pending.add(move('one'))
    await timeline.run(600)
    expect(dropped).toEqual([])
    store.isDown = false
    await timeline.run(60_000)
    expect(dropped).toEqual(['one'])
  })

  it('is awaited by whoever asks, until the store has answered all of them', async () => {
    const { timeline, store, pending } = closing()
    const seen: string[] = []
    const ask = (name: string) => void pending.sent().then(() => seen.push(`${name} ${timeline.nowMs}`))
    ask('before')
    pending.add(move('one'))
    ask('waiting')
    await timeline.run(300)
    pending.add(move('two'))
    ask('asked again')
    await timeline.run(1_000)
    expect(seen).toEqual(['before 0'])
    store.isDown = false
    await timeline.run(60_000)
    expect(seen).toEqual(['before 0', 'waiting 1750', 'asked again 1750'])
  })

  it('is forgotten by a server that has closed', async () => {
    const { timeline, sent, pending } = closing()
    pending.close()
    pending.add(move('one'))
    pending.close()
    await timeline.run(60_000)
    expect(sent).toEqual([])
  })

  it('of ten thousand, a release goes first where one more comes; else the oldest', async () => {
    const { timeline, sent, dropped, store, pending } = closing()
    for (let at = 0; at < 9_999; at++) pending.add(move(`${at}`))
    pending.add(move('release', 'release'))
    pending.add(move('one more'))
    pending.add(move('another'))
    expect(dropped).toEqual(['release', '0'])
    store.isDown = false
    await timeline.run(1_000)
    const tokens = tokensOf(sent)
    expect(tokens).toHaveLength(10_000)
    expect(tokens[0]).toBe('1')
    expect(tokens).not.toContain('release')
    expect(tokens.slice(-2)).toEqual(['one more', 'another'])
  })

  it('that is lost when ten thousand others have come makes room for one that comes then', async () => {
    const { timeline, dropped, store, pending } = closing()
    store.tookMs = 1_000
    for (let at = 0; at < 10_000; at++) pending.add(move(`${at}`))
    await timeline.run(300)
    pending.add(move('in its place'))
    await timeline.run(1_300)
    pending.add(move('one more'))
    expect(dropped).toEqual(['1'])
  })
})

describe('the end of a call of a window', () => {
  it('is sent again until the store answers it', async () => {
    const timeline = new Timeline()
    const sent: string[] = []
    const store = { isDown: true }
    const move = (how: WindowMove['how']) => async (id: string, token: string) => {
      sent.push(`${how} ${id} ${token} ${timeline.nowMs}`)
      if (store.isDown) throw new Error('down')
    }
    const moves = { use: move('use'), giveBack: move('giveBack') }
    const pending = pendingWindowMoves(moves as never, SILENT, clockOf(timeline))
    pending.add({ how: 'use', id: 'window', token: 'one' })
    pending.add({ how: 'giveBack', id: 'window', token: 'two' })
    await timeline.run(500)
    store.isDown = false
    await timeline.run(60_000)
    expect(sent).toEqual(['use window one 250', 'giveBack window two 750', 'use window one 750'])
    expect(timeline.isEmpty).toBe(true)
  })

  it('is dropped by the ten thousandth after it, if it only gives back', async () => {
    const timeline = new Timeline()
    const sent: string[] = []
    const move = (how: string) => async (_: string, token: string) => void sent.push(`${how} ${token}`)
    const moves = { use: move('use'), giveBack: move('giveBack') }
    const pending = pendingWindowMoves(moves as never, SILENT, clockOf(timeline))
    pending.add({ how: 'use', id: 'window', token: 'used' })
    pending.add({ how: 'giveBack', id: 'window', token: 'given' })
    for (let at = 0; at < 9_999; at++) pending.add({ how: 'use', id: 'window', token: `${at}` })
    await timeline.run(60_000)
    expect(sent).toHaveLength(10_000)
    expect(sent[0]).toBe('use used')
    expect(sent).not.toContain('giveBack given')
  })
})

const LAST_VALID = 50_000_000n

function doubting() {
  const timeline = new Timeline()
  const world = {
    round: LAST_VALID as bigint | undefined,
    landing: 'unknown' as Landing,
    tookMs: 0,
    resolved: 'opened' as Resolved | Error,
  }
  const lookedUp: string[] = []
  const moves: ResolveMove[] = []
  const dropped: unknown[] = []
  const decided: (readonly [string, boolean])[] = []
  const inDoubt = paymentsInDoubt({
    chain: {
      round: async () => world.round,
      async lookup(txId) {
        lookedUp.push(`${txId} at ${timeline.nowMs / 1_000} s`)
        if (world.tookMs > 0) await new Promise<void>(resolve => timeline.after(world.tookMs, resolve))
        return world.landing
      },
    },
    store: {
      async resolve(move) {
        if (world.resolved instanceof Error) throw world.resolved
        moves.push(move)
        return world.resolved
      },
    },
    logger: { ...SILENT, info: fields => void dropped.push(fields) },
    clock: clockOf(timeline),
    onDecided: (txId, landed) => decided.push([txId, landed]),
  })
  const add = (txId: string) => {
    const claim = { name: txId, bodyHash: 'hash' }
    const payment = { txId, firstValid: LAST_VALID - 20n, lastValid: LAST_VALID }
    inDoubt.add({ ...hold(txId), claim, payment: 'its own' }, payment)
  }
  return { timeline, world, lookedUp, moves, dropped, decided, inDoubt, add }
}

describe('a payment in doubt', () => {
  it('is not looked up before its last valid round has passed, and ends once the chain says that it never landed', async () => {
    const { timeline, world, lookedUp, moves, dropped, decided, add } = doubting()
    add('one')
    await timeline.run(60_000)
    world.round = undefined
    await timeline.run(120_000)
    expect(lookedUp).toEqual([])
    Object.assign(world, { round: LAST_VALID + 1n, landing: 'absent', resolved: new Error('down') })
    await timeline.run(150_000)
    Object.assign(world, { round: LAST_VALID + 3n, resolved: 'opened' })
    await timeline.run(300_000)
    expect(lookedUp).toEqual(['one at 150 s', 'one at 180 s'])
    const claim = { name: 'one', bodyHash: 'hash' }
    expect(moves).toEqual([
      { ...hold('one'), claim, txId: 'one', verdict: 'dead', retentionMs: 0, leaseMs: 1 },
    ])
    expect([dropped, decided, timeline.isEmpty]).toEqual([[{ txId: 'one' }], [['one', false]], true])
  })

  it.each(['found', 'absent'] as const)(
    'that is %s is over, and nothing was dropped where it landed or another call has its claim',
    async landing => {
      const { timeline, world, lookedUp, moves, dropped, decided, add } = doubting()
      Object.assign(world, { round: LAST_VALID + 1n, landing, resolved: 'moved' })
      add('one')
      await timeline.run(600_000)
      expect([lookedUp, dropped, timeline.isEmpty]).toEqual([['one at 30 s'], [], true])
      expect(moves).toHaveLength(landing === 'found' ? 0 : 1)
      expect(decided).toEqual([['one', landing === 'found']])
    },
  )

  it('keeps whoever asks waiting until it is decided, or nobody asks the chain any more', async () => {
    const { timeline, world, inDoubt, add } = doubting()
    const told: string[] = []
    const tell = (name: string) =>
      void inDoubt.decided().then(() => told.push(`${name} at ${timeline.nowMs} ms`))
    tell('none')
    add('one')
    tell('found')
    await timeline.run(29_000)
    expect(told).toEqual(['none at 0 ms'])
    Object.assign(world, { round: LAST_VALID + 1n, landing: 'found' })
    await timeline.run(30_000)
    add('two')
    tell('closed')
    await timeline.run(40_000)
    inDoubt.close()
    await timeline.run(41_000)
    expect(told.slice(1)).toEqual(['found at 30000 ms', 'closed at 40000 ms'])
  })

  it('of which nothing is known keeps its answer, and is asked for ever more rarely, for about an hour', async () => {
    const { timeline, world, lookedUp, moves, decided, add } = doubting()
    add('one')
    for (let atMs = 0; atMs < 7_200_000; atMs += 3_000) {
      world.round = LAST_VALID + 1n + BigInt(atMs / 3_000)
      await timeline.run(atMs)
    }
    const times = [30, 90, 210, 450, 930, 1_890, 3_810]
    expect(lookedUp).toEqual(times.map(at => `one at ${at} s`))
    expect([moves, decided, timeline.isEmpty]).toEqual([[], [], true])
  })

  it('is looked up after the one before it, however long that takes, and again where another call ended in doubt meanwhile', async () => {
    const { timeline, world, lookedUp, add } = doubting()
    Object.assign(world, { round: LAST_VALID + 1n, landing: 'found', tookMs: 40_000 })
    add('one')
    add('two')
    await timeline.run(50_000)
    add('one')
    await timeline.run(300_000)
    expect(lookedUp).toEqual(['one at 30 s', 'two at 70 s', 'one at 120 s'])
    expect(timeline.isEmpty).toBe(true)
  })

  it('is not held up by twenty that nobody can decide, and whose callers ask again', async () => {
    const { timeline, world, lookedUp, add } = doubting()
    Object.assign(world, { round: LAST_VALID + 1n, landing: 'unknown' })
    const asking = Array.from({ length: 20 }, (_, at) => `asking ${at}`)
    for (const txId of [...asking, 'waiting']) add(txId)
    for (let atMs = 20_000; atMs <= 90_000; atMs += 10_000) {
      await timeline.run(atMs)
      for (const txId of asking) add(txId)
    }
    expect(lookedUp).toHaveLength(21)
    expect(lookedUp[20]).toBe('waiting at 60 s')
  })

  it('is left to its own end by a server that has closed', async () => {
    const { timeline, world, lookedUp, inDoubt, add } = doubting()
    Object.assign(world, { round: LAST_VALID + 1n, tookMs: 10_000 })
    add('one')
    add('two')
    await timeline.run(35_000)
    inDoubt.close()
    inDoubt.close()
    add('three')
    await timeline.run(300_000)
    expect([lookedUp, timeline.isEmpty]).toEqual([['one at 30 s'], true])
  })

  it('is one of at most 20 every half minute, and of 10,000 together', async () => {
    const { timeline, world, lookedUp, moves, add } = doubting()
    Object.assign(world, { round: LAST_VALID + 1n, landing: 'absent' })
    for (let at = 0; at <= 10_000; at++) add(`payment ${at}`)
    await timeline.run(20_000_000)
    expect([lookedUp[0], lookedUp[19], lookedUp[20], lookedUp.at(-1), lookedUp.length]).toEqual([
      'payment 0 at 30 s',
      'payment 19 at 30 s',
      'payment 20 at 60 s',
      'payment 9999 at 15000 s',
      10_000,
    ])
    expect(moves).toHaveLength(10_000)
  })
})
