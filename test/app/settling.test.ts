/** Settling, reconciling and releasing, each by itself on virtual time: what is believed, how often is asked, and when it ends. */
import { describe, expect, it } from 'vitest'
import { Timeline } from '../../proof/simulation/kernel/timeline.js'
import type { Call } from '../../src/app/charge/call-at-work.js'
import { type ChargeDeps, DEFAULT_TIMEOUTS } from '../../src/app/charge/charge-deps.js'
import { giveBack } from '../../src/app/charge/close-call.js'
import { reconcile } from '../../src/app/charge/effects/reconcile.js'
import { settle, untilShutdown } from '../../src/app/charge/effects/settle.js'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import type { Landing } from '../../src/ports/chain.js'
import type { Closed } from '../../src/ports/charge-store.js'
import type { Settlement } from '../../src/ports/facilitator.js'
import { type CallFields, emptyCall, fieldsOf, withFields } from '../support/call-fields.js'
import { clockOf } from '../support/virtual-clock.js'

const SINCE_MS = 10_000
const FOREVER = new Promise<never>(() => {})
const SETTLED = { verdict: 'settled', txId: 'TX' } as const
const UNCLEAR = { verdict: 'unknown', cause: 'no answer' } as const
/** An attempt that is repeated without end shall fail its test instead of hanging it. */
const ATTEMPTS_MAX = 100

interface Trouble {
  readonly says?: Settlement | Promise<Settlement>
  readonly landing?: Landing
  readonly confirmOnChain?: boolean
  readonly isUnread?: boolean
  readonly isCutting?: boolean
  readonly mayHaveLapsed?: boolean | (() => boolean)
  readonly closed?: Closed
}

function scene({ says = UNCLEAR, landing = 'unknown', ...trouble }: Trouble) {
  const timeline = new Timeline()
  timeline.nowMs = SINCE_MS
  const attemptsMs: number[] = []
  const seen = { lookups: 0, isCutting: trouble.isCutting ?? false, cut: () => {} }
  const { mayHaveLapsed = false } = trouble
  const hasLapsed = typeof mayHaveLapsed === 'function' ? mayHaveLapsed : () => mayHaveLapsed
  const world = {
    owner: { network: TESTNET },
    rules: {
      confirmOnChain: trouble.confirmOnChain ?? false,
      timeouts: DEFAULT_TIMEOUTS,
      retentionMs: 1,
      sealSecrets: [],
    },
    clock: clockOf(timeline),
    facilitator: {
      settle: async () => {
        attemptsMs.push(timeline.nowMs - SINCE_MS)
        return says
      },
    },
    chain: {
      lookup: async () => {
        seen.lookups++
        return landing
      },
    },
    store: {
      close: async () => trouble.closed ?? Promise.reject(new Error('down')),
    },
    upkeep: {
      pendingCloses: { add: () => {} },
      leases: { mayHaveLapsed: () => hasLapsed() },
    },
    stop: {
      cutting: () => seen.isCutting,
      onCut: (listener: () => void) => {
        seen.cut = listener
        return () => {}
      },
    },
    logger: { warn: () => {}, error: () => {} },
  } as unknown as ChargeDeps
  const read = { txId: 'TX', payer: 'PAYER', isOfGroup: (id: string) => id === 'TX' || id === 'FEE' }
  const call = withFields(emptyCall(), {
    payload: {},
    requirements: {},
    settlingSinceMs: SINCE_MS,
    ...(!trouble.isUnread && { read, payer: 'PAYER', txId: 'TX' }),
    held: true,
    // Without a key, a call whose payment cannot be read holds nothing.
    owned: trouble.isUnread ? undefined : { hold: { token: 'token', slot: 'PAYER' } },
    request: { caller: { gone: () => false } },
  } as unknown as CallFields)
  /** What the effect answers, and after how many milliseconds. */
  const ended = async <T>(effect: (world: ChargeDeps, call: Call) => Promise<T>) => {
    let end: { answer: T; ms: number } | undefined
    const walked = effect(world, call).then(answer => {
      end = { answer, ms: timeline.nowMs - SINCE_MS }
    })
    await timeline.run(10 * 60_000, () => end !== undefined || attemptsMs.length > ATTEMPTS_MAX)
    if (end === undefined) throw new Error('it does not end')
    await walked
    return end
  }
  return { call, attemptsMs, seen, timeline, ended }
}

describe('a settlement', () => {
  it.each<[string | undefined, Partial<Settlement>]>([
    [undefined, {}],
    [undefined, { txId: 'FEE', network: CAIP2.testnet, payer: 'PAYER' }],
    ['transaction', { txId: 'OTHER' }],
    ['transaction', { txId: undefined }],
    ['network', { network: CAIP2.mainnet }],
    ['payer', { payer: 'OTHER' }],
  ])('is taken at its word, and flagged as of another %s', async (mismatch, named) => {
    const { call, ended, seen } = scene({ says: { ...SETTLED, ...named } as Settlement })
    expect((await ended(settle)).answer).toBe('settled')
    expect(fieldsOf(call)).toMatchObject({ mismatch, txId: 'TX', payer: 'PAYER' })
    expect(seen.lookups).toBe(0)
  })

  it('names the payer and the transaction of a payment that we cannot read', async () => {
    const { call, ended, seen } = scene({
      says: { ...SETTLED, payer: 'PAYER' },
      isUnread: true,
      confirmOnChain: true,
    })
    expect((await ended(settle)).answer).toBe('settled')
    expect(fieldsOf(call)).toMatchObject({ txId: 'TX', payer: 'PAYER' })
    expect(call.end.mismatch).toBeUndefined()
    expect(seen.lookups).toBe(0)
  })

  it.each<[Landing, string]>([
    ['found', 'settled'],
    ['absent', 'unknown'],
    ['unknown', 'unknown'],
  ])('that the chain has to confirm, and says %s of, is %s', async (landing, answer) => {
    const { ended } = scene({ says: SETTLED, landing, confirmOnChain: true })
    expect((await ended(settle)).answer).toBe(answer)
  })

  it.each<[boolean, string]>([
    [false, 'refused'],
    [true, 'unknown'],
  ])(
    'that is refused is so only by who has the word: confirmed on chain %s, it is %s',
    async (confirmOnChain, answer) => {
      const { call, ended } = scene({ says: { verdict: 'refused', reason: 'no funds' }, confirmOnChain })
      expect((await ended(settle)).answer).toBe(answer)
      expect(call.end.refusal).toBe('no funds')
    },
  )

  it('that is refused after the lease may have lapsed is open: another call may have settled the payment since', async () => {
    const lapsed = [false, true]
    const { attemptsMs, ended } = scene({
      says: { verdict: 'refused', reason: 'no funds' },
      mayHaveLapsed: () => lapsed.shift()!,
    })
    expect((await ended(settle)).answer).toBe('unknown')
    expect(attemptsMs).toEqual([0])
  })

  it('that is refused is so for a call that holds nothing: no other can take it over', async () => {
    const refused = { verdict: 'refused', reason: 'no funds' } as const
    const { ended } = scene({ says: refused, isUnread: true, mayHaveLapsed: true })
    expect((await ended(settle)).answer).toBe('refused')
  })

  it('of a payment that is in the ledger already is open', async () => {
    const { ended } = scene({ says: { verdict: 'spent', reason: 'already in ledger' } })
    expect((await ended(settle)).answer).toBe('unknown')
  })

  it.each<[boolean, string]>([
    [false, 'elsewhere'],
    [true, 'unknown'],
  ])(
    'that another server submitted is so only by who has the word: confirmed on chain %s, it is %s',
    async (confirmOnChain, answer) => {
      const says = { verdict: 'spent', reason: 'already in ledger', submittedBefore: true } as const
      const { ended, seen } = scene({ says, confirmOnChain })
      expect((await ended(settle)).answer).toBe(answer)
      expect(seen.lookups).toBe(0)
    },
  )

  it('is not begun by a call whose lease may have lapsed: the one that took it over may have told its caller that nothing was charged', async () => {
    const { attemptsMs, ended } = scene({ says: SETTLED, mayHaveLapsed: true })
    expect((await ended(settle)).answer).toBe('unknown')
    expect(attemptsMs).toEqual([])
  })

  it('is not begun by a server that is stopping', async () => {
    const { attemptsMs, ended } = scene({ says: SETTLED, isCutting: true })
    expect((await ended(settle)).answer).toBe('unknown')
    expect(attemptsMs).toEqual([])
  })
})

describe('reconciling', () => {
  it('asks after pauses that double up to four seconds, until the caller has waited long enough', async () => {
    const { call, attemptsMs, ended } = scene({})
    expect(await ended(reconcile)).toEqual({ answer: 'unknown', ms: 45_000 })
    const everyFourSeconds = Array.from({ length: 10 }, (_, at) => 7_500 + 4_000 * at)
    expect(attemptsMs).toEqual([0, 500, 1_500, 3_500, ...everyFourSeconds, 45_000])
    expect(call.end.refusal).toBeUndefined()
  })

  it('waits no longer for an attempt that hangs', async () => {
    const { attemptsMs, ended } = scene({ says: FOREVER })
    expect(await ended(reconcile)).toEqual({ answer: 'unknown', ms: 45_000 })
    expect(attemptsMs).toEqual([0])
  })

  it('believes a yes, and does not ask the chain', async () => {
    const { ended, seen } = scene({ says: SETTLED, landing: 'unknown' })
    expect(await ended(reconcile)).toEqual({ answer: 'found', ms: 0 })
    expect(seen.lookups).toBe(0)
  })

  it('that was submitted before is the chain’s to decide: this call’s first attempt may have submitted it', async () => {
    const says = { verdict: 'spent', reason: 'already in ledger', submittedBefore: true } as const
    const { ended } = scene({ says, landing: 'found' })
    expect((await ended(reconcile)).answer).toBe('found')
  })

  it.each<[Landing, string | undefined]>([
    ['found', undefined],
    ['absent', 'The payment was not settled before its last valid round; you were not charged'],
  ])('ends at once where the chain says %s', async (landing, refusal) => {
    const { call, ended } = scene({ landing })
    expect(await ended(reconcile)).toEqual({ answer: landing, ms: 0 })
    expect(call.end.refusal).toBe(refusal)
    expect(call.end.retryAfterMs).toBeUndefined()
  })

  it('does not look a payment up that nothing was read in', async () => {
    const { ended, seen } = scene({ isUnread: true })
    expect((await ended(reconcile)).answer).toBe('unknown')
    expect(seen.lookups).toBe(0)
  })

  it.each<[Landing, number]>([
    ['found', 0],
    ['unknown', 45_000],
  ])('of a call whose lease may have lapsed asks the chain alone: %s', async (landing, ms) => {
    const { attemptsMs, ended } = scene({ says: SETTLED, landing, mayHaveLapsed: true })
    expect(await ended(reconcile)).toEqual({ answer: landing, ms })
    expect(attemptsMs).toEqual([])
  })

  it('ends when the server stops', async () => {
    const { seen, timeline, ended } = scene({})
    timeline.after(600, () => {
      seen.isCutting = true
      seen.cut()
    })
    expect(await ended(reconcile)).toEqual({ answer: 'unknown', ms: 600 })
  })
})

describe('releasing', () => {
  it.each<[Closed | undefined, string]>([
    ['closed', 'released'],
    ['superseded', 'superseded'],
    [undefined, 'storeDown'],
  ])('where the store says %s is %s', async (closed, answer) => {
    const { ended } = scene({ ...(closed && { closed }) })
    expect((await ended(giveBack)).answer).toBe(answer)
  })
})

describe('work that a server waits for until it stops', () => {
  const stop = (isCutting: boolean) => {
    const listeners: (() => void)[] = []
    const onCut = (listener: () => void) => {
      listeners.push(listener)
      return () => void listeners.splice(listeners.indexOf(listener), 1)
    }
    return { listeners, stop: { cutting: () => isCutting, onCut } as unknown as ChargeDeps['stop'] }
  }

  it('ends as it does, and is waited for no longer', async () => {
    const { stop: running, listeners } = stop(false)
    const cause = new Error('no')
    const done = untilShutdown(running, Promise.resolve('done'), 'cut')
    const failed = expect(untilShutdown(running, Promise.reject(cause), 'cut')).rejects.toBe(cause)
    expect(listeners).toHaveLength(2)
    expect(await done).toBe('done')
    await failed
    expect(listeners).toEqual([])
  })

  it('is not waited for by a server that stops, or has begun to', async () => {
    const { stop: running, listeners } = stop(false)
    const waiting = untilShutdown(running, new Promise(() => {}), 'cut')
    for (const cut of listeners) cut()
    expect(await waiting).toBe('cut')
    expect(await untilShutdown(stop(true).stop, new Promise(() => {}), 'cut')).toBe('cut')
  })
})
