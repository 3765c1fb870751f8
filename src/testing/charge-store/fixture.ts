/** The start of every charge store test: a fresh slot in the store under test, and short names for the moves. */
import { randomUUID } from 'node:crypto'
import type {
  ChargeStore,
  CloseMove,
  Hold,
  Recorded,
  RecordMove,
  ResolveMove,
} from '../../ports/charge-store.js'

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
  return {
    store,
    advance,
    leaseMs,
    retentionMs,
    txId,
    /** A call under the key `key`, for the payment `p`. `null` leaves the key or the payment out. */
    call(token: string, over: { key?: string | null; body?: string; payment?: string | null } = {}): Hold {
      const { key = 'key', body = 'body', payment = 'p' } = over
      return {
        slot,
        token,
        ...(key !== null && { claim: { name: key, bodyHash: body } }),
        ...(payment !== null && { payment: txId(payment) }),
      }
    },
    open: (hold: Hold) => store.open({ ...hold, leaseMs }),
    record: (hold: Hold, answer = 'answer', over: Partial<RecordMove> = {}) =>
      store.record({
        ...hold,
        recorded: recordedOf(hold, answer),
        leaseMs,
        paymentTtlMs: 50 * leaseMs,
        claimTtlMs: 60 * leaseMs,
        ...over,
      }),
    close: (hold: Hold, how: CloseMove['how'], answer?: string) =>
      store.close({
        ...hold,
        how,
        retentionMs: retentionMs,
        ...(answer !== undefined && { answer: bytes(answer) }),
      }),
    renew: async (hold: Hold) => (await store.renew([hold], leaseMs))[0],
    resolve: (hold: Hold, verdict: ResolveMove['verdict'], payment = 'p') =>
      store.resolve({ ...hold, verdict, txId: txId(payment), retentionMs: retentionMs, leaseMs }),
  }
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

export function text(answer: Uint8Array): string {
  return new TextDecoder().decode(answer)
}

/** The call `a`, after it has recorded an answer and closed. */
export async function closedCall(s: Scene, how: CloseMove['how'], answer = 'answer'): Promise<Hold> {
  const a = s.call('a')
  await s.open(a)
  await s.record(a, answer)
  await s.close(a, how)
  return a
}

/** A call that opened, recorded and died, and whose lease has ended. */
export async function orphan(s: Scene, answer = 'answer'): Promise<Hold> {
  const dead = s.call('dead')
  await s.open(dead)
  await s.record(dead, answer)
  await s.advance(s.leaseMs)
  return dead
}
