/** Recording and recovery, each by itself: what is kept and for how long, and whose word decides what is owed. */

import { describe, expect, it } from 'vitest'
import { Timeline } from '../../proof/simulation/kernel/timeline.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import type { Call } from '../../src/app/charge/call-at-work.js'
import { type ChargeDeps, DEFAULT_TIMEOUTS, type Rules } from '../../src/app/charge/charge-deps.js'
import { record, replayedAnswer } from '../../src/app/charge/effects/record.js'
import { recover } from '../../src/app/charge/effects/recover.js'
import { creditorName, ownerOf, windowId } from '../../src/app/charge/names-in-stores.js'
import { seal, unseal } from '../../src/app/charge/seal-answers.js'
import { TESTNET } from '../../src/domain/network.js'
import type { Landing } from '../../src/ports/chain.js'
import type { RecordMove, Resolved, ResolveMove } from '../../src/ports/charge-store.js'
import type { Settlement } from '../../src/ports/facilitator.js'
import { systemRandom } from '../../src/ports/random.js'
import type { SubscriptionStore } from '../../src/ports/subscriptions.js'

import { type CallFields, emptyCall, fieldsOf, withFields } from '../support/call-fields.js'
import { OWNED, SECRET } from '../support/charge-fixture.js'
import { OWNER, SELLER } from '../support/one-call.js'
import { clockOf } from '../support/virtual-clock.js'

const NOW_MS = 1_000_000
const HOUR_MS = 3_600_000
const random = {
  ...systemRandom,
  bytes: (count: number) => new Uint8Array(count),
  iv: () => new Uint8Array(12),
}
const ANSWER = { status: 200, headers: {}, body: 'paid' } as const
const TOLD = { txId: 'TX', payer: 'PAYER', amount: '10000', asset: '31566704', window: undefined }

function scene(
  call: CallFields,
  world: Partial<ChargeDeps> & { readonly isCutting?: () => boolean; readonly hasLapsed?: boolean } = {},
) {
  const seen = {
    kept: 0,
    given: [] as unknown[],
    settled: 0,
    lookups: 0,
    hasLapsed: world.hasLapsed ?? false,
  }
  const base = {
    owner: ownerOf(TESTNET, SELLER, 'agent'),
    random,
    rules: {
      retentionMs: 500,
      keepAnswersMs: 300,
      sealSecrets: [],
      answerBytesMax: 4,
      confirmOnChain: false,
      credit: { runs: 1 },
    },
    upkeep: { leases: { leaseMs: 15_000, keep: () => seen.kept++, mayHaveLapsed: () => seen.hasLapsed } },
    clock: { monotonic: () => NOW_MS, now: () => NOW_MS },
    stop: { cutting: world.isCutting ?? (() => false), onCut: () => () => {} },
    credit: { giveBack: (...given: unknown[]) => void seen.given.push(given) },
    logger: { warn: () => {}, error: () => {} },
  }
  const endpoint = {
    owner: OWNER,
    soldAs: 'work',
    def: { name: 'work' },
    terms: { requirements: () => ({}) },
    periodMs: undefined,
  }
  return {
    seen,
    world: { ...base, ...world } as unknown as ChargeDeps,
    call: withFields(emptyCall(), {
      key: SECRET,
      owned: OWNED,
      request: { caller: { gone: () => false } },
      endpoint,
      settleByMs: NOW_MS + 60_000,
      requirements: { amount: '10000', asset: '31566704', maxTimeoutSeconds: 60 },
      read: { txId: 'TX', payer: 'PAYER', firstValid: 100n, lastValid: 208n },
      txId: 'TX',
      payer: 'PAYER',
      answer: ANSWER,

      ...call,
    } as unknown as CallFields),
  }
}

describe('recording', () => {
  async function recorded(
    call: CallFields,
    isCutting?: () => boolean,
    says: string | Error = 'recorded',
    rules: Partial<Rules> = {},
  ) {
    const moves: RecordMove[] = []
    const windows: { readonly expiresAtMs: number }[] = []
    const store = {
      record: async (move: RecordMove) => {
        moves.push(move)
        if (says instanceof Error) throw says
        return says
      },
    }
    const subscriptions = {
      putIfAbsent: async (_: string, window: { readonly expiresAtMs: number }) => {
        windows.push(window)
        if (says === 'no window') throw new Error('down')
      },
    }
    const it = scene(call, {
      store,
      subscriptions,
      ...(isCutting && { isCutting }),
    } as unknown as Partial<ChargeDeps>)
    Object.assign(it.world.rules, rules)
    return { answer: await record(it.world, it.call), moves, windows, call: it.call, seen: it.seen }
  }
  const selling = {
    owner: OWNER,
    soldAs: 'work',
    def: { name: 'work' },
    periodMs: HOUR_MS,
  } as Call['endpoint']

  it('keeps the answer while its payment may land, an hour longer, and as long as it may be asked for', async () => {
    const { answer, moves } = await recorded({})
    expect(answer).toBe('recorded')
    expect(moves).toMatchObject([
      { paymentTtlMs: 108 * 4_000 + HOUR_MS, claimTtlMs: 108 * 4_000 + HOUR_MS + 500 },
    ])
    const kept = unseal(moves[0]!.recorded.answer, [SECRET], 'claim')!
    // Four bytes are as many as may be kept.
    expect({ ...kept, answer: kept.answer?.body.toString() }).toEqual({ ...TOLD, answer: 'paid' })
  })

  it('keeps the payment by which recovery asks the chain, where one can be read', async () => {
    const { moves } = await recorded({})
    expect(moves[0]!.recorded.payment).toEqual({ txId: 'TX', firstValid: 100n, lastValid: 208n })
    expect((await recorded({ read: undefined })).moves[0]!.recorded).not.toHaveProperty('payment')
  })

  it.each<[string, CallFields]>([
    ['is a byte too large', { answer: { ...ANSWER, body: 'large' } }],
    ['is a stream that has not ended', { source: {} as CallFields['source'] }],
  ])('keeps what was charged and no answer, where that %s', async (_, call) => {
    const { moves } = await recorded(call)
    expect(unseal(moves[0]!.recorded.answer, [SECRET], 'claim')).toEqual({ ...TOLD, answer: undefined })
  })

  it('keeps what a window or a balance paid for', () => {
    const keptOf = (call: CallFields) => {
      const it = scene(call)
      return replayedAnswer(it.world, it.call)
    }
    const used = { id: 'window', isCounted: true }
    expect(keptOf({ requirements: undefined, used, callsLeft: 3 })).toEqual({
      ...{ ...TOLD, answer: ANSWER, network: undefined },
      ...{ amount: '0', asset: '', callsLeft: 3 },
    })
    for (const uncounted of [undefined, { ...used, isCounted: false }])
      expect(keptOf({ used: uncounted, callsLeft: 3 })).not.toHaveProperty('callsLeft')
    const balance = { charged: 5 } as CallFields['balance']
    expect(keptOf({ balance })).toMatchObject({ charged: 5 })
    expect(keptOf({})).not.toHaveProperty('charged')
  })

  it.each([
    ['with a key', SECRET, 300, 500],
    ['without a key', undefined, 300, 300],
    ['without a key, while its outcome is in doubt, where none is kept,', undefined, 0, 120_000],
  ])(
    'keeps the answer of a call %s for as long as it may be asked for',
    async (_, key, keepAnswersMs, ms) => {
      const { moves } = await recorded({ key }, undefined, 'recorded', { keepAnswersMs })
      expect(moves).toMatchObject([{ claimTtlMs: moves[0]!.paymentTtlMs + ms }])
    },
  )

  it('takes no payment for longer than Algorand lets it live', async () => {
    const read = { txId: 'TX', firstValid: 1n, lastValid: 5_000n } as CallFields['read']
    expect((await recorded({ read })).moves[0]!.paymentTtlMs).toBe(1_000 * 4_000 + HOUR_MS)
  })

  it.each([
    ['recorded', 1],
    ['superseded', 0],
    [new Error('down'), 0],
  ])('counts the lease from now on where the store says %s', async (says, kept) => {
    expect((await recorded({}, undefined, says)).seen.kept).toBe(kept)
  })

  it('asks nobody where nothing is held', async () => {
    expect(await recorded({ owned: undefined })).toMatchObject({ answer: 'recorded', moves: [] })
  })

  it.each([
    ['expired', { settleByMs: NOW_MS }],
    ['abandoned', { request: { caller: { gone: () => true } } as Call['request'] }],
  ])('does not begin for a call that is %s', async (answer, call) => {
    expect(await recorded(call)).toMatchObject({ answer, moves: [] })
  })

  it('does not begin in a server that is stopping, and does not pass in one that was told to meanwhile', async () => {
    expect(await recorded({}, () => true)).toMatchObject({ answer: 'stopped', moves: [] })
    let asked = 0
    expect(await recorded({}, () => ++asked > 1)).toMatchObject({ answer: 'stopped', moves: [{}] })
  })

  it.each([
    [60_000, 60, 60_000],
    [20_000, 60, 20_000],
    [60_000, 30, 30_000],
  ])(
    'sells a window from the last moment of its payment: %i ms left, signed for %i s as asked',
    async (leftMs, maxTimeoutSeconds, fromMs) => {
      const { windows, moves } = await recorded({
        endpoint: selling,
        settleByMs: NOW_MS + leftMs,
        requirements: { amount: '10000', asset: '31566704', maxTimeoutSeconds } as CallFields['requirements'],
      })
      expect(windows).toMatchObject([{ expiresAtMs: NOW_MS + fromMs + HOUR_MS }])
      const kept = unseal(moves[0]!.recorded.answer, [SECRET], 'claim')!
      expect(kept.window?.expiresAtMs).toBe(NOW_MS + fromMs + HOUR_MS)
    },
  )

  it.each<[string, string | Error, Call['endpoint'] | undefined, boolean]>([
    ['the charge store', new Error('down'), undefined, true],
    ['the charge store, after a window was stored,', new Error('down'), selling, true],
    ['the store of windows', 'no window', selling, false],
  ])('is no charge where %s does not answer', async (_, says, endpoint, storeSilent) => {
    const { answer, call } = await recorded({ ...(endpoint && { endpoint }) }, undefined, says)
    expect(answer).toBe('storeDown')
    expect(call.holds.held === 'unknown').toBe(storeSilent)
    // A window that was not stored need not be deleted.
    expect(call.window.sold !== undefined).toBe(storeSilent && endpoint !== undefined)
  })

  it('waits for one trip where a window is sold: window and answer leave together, the window first', async () => {
    const sent: string[] = []
    let arrive = () => {}
    const arrived = new Promise<void>(resolve => {
      arrive = resolve
    })
    const stored = async (what: string) => {
      if (sent.push(what) === 2) arrive()
      await arrived
      return 'recorded'
    }
    const it = scene({ endpoint: selling }, {
      store: { record: () => stored('answer') },
      subscriptions: { putIfAbsent: () => stored('window') },
    } as unknown as Partial<ChargeDeps>)
    expect(await record(it.world, it.call)).toBe('recorded')
    expect(sent).toEqual(['window', 'answer'])
  })
})

describe('recovery', () => {
  const kept = seal({ ...TOLD, answer: ANSWER } as never, SECRET, 'claim', random)
  const unkept = seal({ ...TOLD, answer: undefined } as never, SECRET, 'claim', random)
  const payment = { txId: 'TX', firstValid: 100n, lastValid: 208n }

  interface Case {
    /** What the chain says. A list: in turn, and the last from then on. */
    readonly landing?: Landing | readonly Landing[]
    readonly says?: Settlement['verdict']
    readonly resolved?: Resolved | Error
    readonly confirmOnChain?: boolean
    readonly credit?: unknown
    readonly keepAnswersMs?: number
    readonly call?: CallFields
    readonly onSettle?: () => void
    readonly hasLapsed?: boolean
    readonly subscriptions?: Pick<SubscriptionStore, 'putIfAbsent'>
  }

  const GONE = {
    request: { caller: { gone: () => true, onGone: () => () => {}, onEnd: () => {} } },
  } as unknown as CallFields

  async function recovered({ landing = 'unknown', says = 'unknown', resolved = 'completed', ...rest }: Case) {
    const verdicts: ResolveMove['verdict'][] = []
    const keptMs: number[] = []
    const { credit = { runs: 1 }, confirmOnChain = false, keepAnswersMs = 300 } = rest
    const timeline = new Timeline()
    const { seen, world, call } = scene({ recorded: { answer: kept, payment }, ...rest.call }, {
      clock: clockOf(timeline),
      rules: {
        retentionMs: 500,
        keepAnswersMs,
        sealSecrets: [],
        confirmOnChain,
        credit,
        timeouts: DEFAULT_TIMEOUTS,
      },
      chain: {
        lookup: async () =>
          [landing]
            .flat()
            .slice(0, ++seen.lookups)
            .at(-1),
      },
      facilitator: {
        supported: async () => ({}),
        settle: async () => {
          seen.settled++
          rest.onSettle?.()
          return { verdict: says }
        },
      },
      store: {
        resolve: async ({ verdict, retentionMs }: ResolveMove) => {
          verdicts.push(verdict)
          keptMs.push(retentionMs)
          if (resolved instanceof Error) throw resolved
          return resolved
        },
      },
      subscriptions: rest.subscriptions,
      hasLapsed: rest.hasLapsed,
    } as unknown as Partial<ChargeDeps>)
    let waitedMs: number | undefined
    const recovering = recover(world, call).finally(() => {
      waitedMs = timeline.nowMs
    })
    await timeline.run(HOUR_MS, () => waitedMs !== undefined)
    return { answer: await recovering, waitedMs, verdicts, keptMs, seen, call, world }
  }

  it.each<[string, Case, string, string[]]>([
    ['what the chain has found is owed', { landing: 'found' }, 'found', ['found']],
    ['what is landed here is owed', { says: 'settled' }, 'found', ['found']],
    [
      'a yes that the chain has to confirm decides nothing',
      { says: 'settled', confirmOnChain: true },
      'undecided',
      [],
    ],
    [
      'a yes that the chain confirms later is waited for',
      { says: 'settled', confirmOnChain: true, landing: ['unknown', 'unknown', 'found'] },
      'found',
      ['found'],
    ],
    [
      'a yes that the chain proves wrong is a lie',
      { says: 'settled', confirmOnChain: true, landing: ['unknown', 'absent'], resolved: 'opened' },
      'absent',
      ['dead'],
    ],
    ['what nobody knows is open', {}, 'undecided', []],
    [
      'what was refused is open, whoever has the word',
      { says: 'refused', confirmOnChain: true },
      'undecided',
      [],
    ],
    ['what can land no more is dead', { landing: 'absent', resolved: 'opened' }, 'absent', ['dead']],
    ['what another call moved is said', { landing: 'found', resolved: 'moved' }, 'moved', ['found']],
    [
      'what has landed is owed, whether or not the store has heard of it',
      { landing: 'found', resolved: new Error('down') },
      'found',
      ['found'],
    ],
    [
      'a store that is silent gives nothing up',
      { landing: 'absent', resolved: new Error('down') },
      'storeDown',
      ['dead'],
    ],
    [
      'without a payment nobody can be asked',
      { landing: 'found', call: { recorded: { answer: kept } } },
      'undecided',
      [],
    ],
    [
      'an answer that was too large is not kept',
      { landing: 'found', call: { recorded: { answer: unkept, payment } } },
      'notKept',
      ['found'],
    ],
  ])('%s', async (_, trouble, answer, verdicts) => {
    expect(await recovered(trouble)).toMatchObject({ answer, verdicts })
  })

  describe('of a window that was sold', () => {
    const window = { key: 'svc_key', expiresAtMs: NOW_MS + HOUR_MS, callsLeft: 3 }
    const sold = seal({ ...TOLD, answer: ANSWER, window } as never, SECRET, 'claim', random)
    const selling = {
      owner: OWNER,
      soldAs: 'work',
      def: { name: 'work' },
      terms: { requirements: () => ({}) },
      periodMs: HOUR_MS,
    }

    async function recoveredSale(isDown: boolean) {
      const done: string[] = []
      const { answer } = await recovered({
        says: 'settled',
        onSettle: () => void done.push('settled'),
        subscriptions: {
          putIfAbsent: (id, { endpoint, expiresAtMs, callsLeft }) => {
            if (isDown) throw new Error('down')
            expect([id, endpoint, expiresAtMs, callsLeft]).toEqual([
              windowId(OWNER, 'svc_key'),
              'work',
              window.expiresAtMs,
              3,
            ])
            done.push('stored')
          },
        },
        call: { recorded: { answer: sold, payment }, endpoint: selling as unknown as Call['endpoint'] },
      })
      return [answer, ...done]
    }

    it('stores the window before it settles, and settles nothing where the window is not stored', async () => {
      expect(await recoveredSale(false)).toEqual(['found', 'stored', 'settled'])
      expect(await recoveredSale(true)).toEqual(['storeDown'])
    })
  })

  it('waits for the chain as long as a first settlement does, and not where nobody says that the payment landed', async () => {
    const confirmed = { says: 'settled', confirmOnChain: true } as const
    expect((await recovered(confirmed)).waitedMs).toBe(DEFAULT_TIMEOUTS.certaintyMs)
    const found = await recovered({ ...confirmed, landing: ['unknown', 'unknown', 'found'] })
    expect(found).toMatchObject({ waitedMs: 1_500, seen: { settled: 1, lookups: 3 } })
    for (const says of ['unknown', 'refused', 'spent'] as const)
      expect(await recovered({ says, confirmOnChain: true })).toMatchObject({
        waitedMs: 0,
        seen: { lookups: 1 },
      })
  })

  it('of a call that has no payment itself goes on as its own', async () => {
    const dead = { landing: 'absent', resolved: 'opened' } as const
    const { answer, call } = await recovered({ ...dead, call: { read: undefined } })
    expect({ answer, held: call.holds.held, txId: call.payment.txId }).toEqual({
      answer: 'absent',
      held: true,
      txId: undefined,
    })
  })

  it('of an answer that sold no window stores none, though its endpoint sells windows by now', async () => {
    const terms = { requirements: () => ({}) }
    const endpoint = { owner: OWNER, soldAs: 'work', def: { name: 'work' }, terms, periodMs: HOUR_MS }
    const call = { endpoint: endpoint as unknown as Call['endpoint'] }
    expect(await recovered({ landing: 'found', call })).toMatchObject({ answer: 'found' })
  })

  it('settles again only the very payment that was recorded', async () => {
    const other = { txId: 'OTHER', payer: 'PAYER' } as CallFields['read']
    const another = await recovered({ says: 'settled', call: { read: other } })
    expect(another).toMatchObject({ answer: 'undecided', seen: { settled: 0, lookups: 1 } })
    expect(fieldsOf(another.call)).toMatchObject({ txId: 'TX' })
    const none = await recovered({ landing: 'found', call: { read: undefined } })
    expect(none).toMatchObject({ answer: 'found', seen: { settled: 0, given: [] } })
  })

  it('speaks of the earlier payment while it is open, also where the store is silent, and of its own afterwards', async () => {
    const other = { txId: 'OTHER', payer: 'PAYER' } as CallFields['read']
    const silent = await recovered({ landing: 'absent', resolved: new Error('down'), call: { read: other } })
    expect([silent.answer, silent.call.payment.txId]).toEqual(['storeDown', 'TX'])
    const dead = await recovered({ landing: 'absent', resolved: 'opened', call: { read: other } })
    expect([dead.answer, dead.call.payment.txId]).toEqual(['absent', 'OTHER'])
  })

  it('settles nothing whose answer was not kept: that would be a charge for an answer that nobody has', async () => {
    const { answer, seen } = await recovered({
      says: 'settled',
      call: { recorded: { answer: unkept, payment } },
    })
    expect([answer, seen]).toEqual(['undecided', expect.objectContaining({ settled: 0, lookups: 1 })])
  })

  it('settles nothing where its own lease may have lapsed', async () => {
    const { answer, seen } = await recovered({ says: 'settled', hasLapsed: true })
    expect([answer, seen]).toEqual(['undecided', expect.objectContaining({ settled: 0, lookups: 1 })])
  })

  it('gives the payer of what it found its credit back, and one run more', async () => {
    const { seen, call, world } = await recovered({ landing: 'found' })
    expect(seen.given).toEqual([[creditorName(world.owner, 'PAYER'), 2, { runs: 1 }]])
    expect(call.earlier.replayed).toMatchObject({ txId: 'TX', answer: { status: 200 } })
    const without = await recovered({ landing: 'found', credit: null })
    expect(without.seen.given).toEqual([])
    // The same request may be sent again and again while the store is silent.
    const silent = await recovered({ landing: 'found', resolved: new Error('down') })
    expect(silent).toMatchObject({ answer: 'found', seen: { given: [] } })
  })

  it.each([
    ['its key', {}, 300, 500],
    ['its payer', { key: undefined }, 300, 300],
    ['its payer, where the seller keeps no answers: it was in doubt,', { key: undefined }, 0, 120_000],
    ['its key, though its caller is gone,', GONE, 300, 500],
    [
      'as long as the payment’s record, where its caller is gone and nobody had it,',
      { key: undefined, ...GONE },
      300,
      108 * 4_000 + HOUR_MS,
    ],
  ])('keeps what it found for %s', async (_, call, keepAnswersMs, ms) => {
    const { answer, keptMs } = await recovered({ landing: 'found', call, keepAnswersMs })
    expect({ answer, keptMs }).toEqual({ answer: 'found', keptMs: [ms] })
  })

  it('keeps it as long for a caller whose hang-up is heard right after the chain, as where the process stood still', async () => {
    let isGone = false
    setImmediate(() => {
      isGone = true
    })
    const caller = { gone: () => isGone, onGone: () => () => {}, onEnd: () => {} }
    const call = { key: undefined, request: { caller } } as unknown as CallFields
    expect((await recovered({ landing: 'found', call })).keptMs).toEqual([108 * 4_000 + HOUR_MS])
  })

  it('keeps the lease of what it took over', async () => {
    const { call, seen } = await recovered({ landing: 'absent', resolved: 'opened' })
    expect(call.holds.held).toBe(true)
    expect(seen.kept).toBe(1)
  })
})

describe('a window whose storing stands still, while another process stores it and sells a call of it', () => {
  const endpoint = {
    owner: OWNER,
    soldAs: 'work',
    def: { name: 'work', subscription: { calls: 4 } },
    terms: { requirements: () => ({}) },
    periodMs: HOUR_MS,
  } as unknown as Call['endpoint']
  const window = { key: 'svc_key', expiresAtMs: NOW_MS + HOUR_MS, callsLeft: 3 }
  const sold = seal({ ...TOLD, answer: ANSWER, window } as never, SECRET, 'claim', random)

  it.each([
    ['its sale', record, {}],
    ['recovery', recover, { recorded: { answer: sold } }],
  ] as const)('keeps its count: %s', async (_, effect, call) => {
    const windows = memorySubscriptions({ clock: { now: () => NOW_MS, monotonic: () => NOW_MS } })
    const left: unknown[] = []
    const putIfAbsent: SubscriptionStore['putIfAbsent'] = (id, record) => {
      windows.putIfAbsent(id, record)
      windows.take(id, { endpoint: 'work', token: 'one', leaseMs: 1_000 })
      windows.use(id, 'one')
      windows.putIfAbsent(id, record)
      left.push(windows.get(id))
    }
    const it = scene({ endpoint, ...call }, {
      store: { record: async () => 'recorded' },
      subscriptions: { ...windows, putIfAbsent },
    } as unknown as Partial<ChargeDeps>)
    await effect(it.world, it.call)
    expect(left).toMatchObject([{ endpoint: 'work', callsLeft: 2 }])
  })
})
