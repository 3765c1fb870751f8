/** The start of every charge store test: a fresh slot in the store under test, and short names for the moves. */
import { randomUUID } from 'node:crypto'
import type {
  ChargeStore,
  CloseMove,
  Hold,
  Opened,
  OpenMove,
  Recorded,
  RecordMove,
  ResolveMove,
} from '../../ports/charge-store.js'
import type { Expect, TestRunner } from '../runner.js'

/** A {@link ChargeStore} under test, and its time. */
export interface ChargeStoreHarness {
  /** May hold records of other tests, under other slots. */
  readonly store: ChargeStore
  /** Lets time pass for the store: it moves the store's clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** Milliseconds: long enough for a few moves, short enough to wait for its end. */
  readonly leaseMs: number
}

/** Makes the store of one test. Called once for each test. */
export type MakeChargeStore = () => ChargeStoreHarness | Promise<ChargeStoreHarness>

/** What cases are written with. Each test begins with a scene of its own, and `fresh` makes it another. */
export interface Cases {
  readonly expect: Expect
  readonly fresh: () => Promise<Scene>
  it(title: string, body: (s: Scene) => Promise<void>): unknown
}

export function casesOf({ expect, it }: TestRunner, make: MakeChargeStore): Cases {
  const fresh = () => scene(make)
  return { expect, fresh, it: (title, body) => it(title, async () => body(await fresh())) }
}

export type Scene = Awaited<ReturnType<typeof scene>>

export async function scene(make: MakeChargeStore) {
  const { store, advance, leaseMs } = await make()
  const slot = `slot-${randomUUID()}`
  const retentionMs = 4 * leaseMs
  const txId = (name: string) => `${name}-${slot}`
  const recordedOf = (hold: Hold, answer: string): Recorded => ({
    answer: bytes(answer),
    ...(hold.payment && { payment: { txId: hold.payment, firstValid: 1n, lastValid: 2n ** 53n + 1n } }),
  })
  /** A call under the key `key`, for the payment `p`. `null` leaves the key or the payment out. */
  function call(
    token: string,
    over: { key?: string | null; body?: string; payment?: string | null } = {},
  ): Hold {
    const { key = 'key', body = 'body', payment = 'p' } = over
    return {
      slot,
      token,
      ...(key !== null && { claim: { name: key, bodyHash: body } }),
      ...(payment !== null && { payment: txId(payment) }),
    }
  }
  const open = (hold: Hold) => store.open({ ...hold, leaseMs })
  const record = (hold: Hold, answer = 'answer', over: Partial<RecordMove> = {}) =>
    store.record({
      ...hold,
      recorded: recordedOf(hold, answer),
      leaseMs,
      paymentTtlMs: 50 * leaseMs,
      claimTtlMs: 60 * leaseMs,
      ...over,
    })
  const close = (hold: Hold, how: CloseMove['how'], answer?: string) =>
    store.close({ ...hold, how, retentionMs, ...(answer !== undefined && { answer: bytes(answer) }) })
  async function opened(hold: Hold): Promise<Hold> {
    await open(hold)
    return hold
  }
  async function recorded(hold: Hold, answer?: string, over?: Partial<RecordMove>): Promise<Hold> {
    await record(await opened(hold), answer, over)
    return hold
  }
  /** A call that opened, recorded and died, and whose lease has ended. */
  async function orphan(answer?: string, over: Partial<RecordMove> = {}): Promise<Hold> {
    const dead = await recorded(call('dead'), answer, over)
    await advance(leaseMs)
    return dead
  }
  return {
    slot,
    store,
    advance,
    leaseMs,
    retentionMs,
    txId,
    call,
    open,
    record,
    close,
    opened,
    recorded,
    orphan,
    /** What is renewed may be the move that opened: its own lease counts no more. */
    renew: async (hold: Hold) => (await store.renew([{ ...hold, leaseMs: 1 } as Hold], leaseMs))[0],
    resolve: (hold: Hold, verdict: ResolveMove['verdict'], payment = 'p') =>
      store.resolve({ ...hold, verdict, txId: txId(payment), retentionMs, leaseMs }),
    /** A call from its open to its close. */
    async ended(
      hold: Hold,
      how: CloseMove['how'],
      answer?: string,
      more: Partial<CloseMove> = {},
    ): Promise<Hold> {
      await recorded(hold, answer)
      await store.close({ ...hold, how, retentionMs, ...more })
      return hold
    },
    /** The successor of an orphan. */
    async adopted(successor: Hold, answer?: string): Promise<Hold> {
      await orphan(answer)
      return opened(successor)
    },
  }
}

export function openAs(s: Scene, token: string, over: object, more: Partial<OpenMove>): Promise<Opened> {
  return s.store.open({ ...s.call(token, over), leaseMs: s.leaseMs, ...more })
}

/** The answer that an open found to be replayed; else its verdict. */
export function replayed(opened: Opened): string {
  return opened.verdict === 'replayable' ? text(opened.answer) : opened.verdict
}

/** The answer that an open took over; else its verdict. */
export function owed(opened: Opened): string {
  return opened.verdict === 'orphaned' ? text(opened.recorded.answer) : opened.verdict
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

export function text(answer: Uint8Array): string {
  return new TextDecoder().decode(answer)
}
