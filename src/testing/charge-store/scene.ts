/** What every charge store test starts from: a fresh slot in the store under test, and short names for the moves. */
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
  /** Other tests may have left something in it, under slots of their own. */
  readonly store: ChargeStore
  /** Lets time pass for the store: moves its clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** Milliseconds: long enough for a handful of moves to happen within it, short enough to be waited out. */
  readonly leaseMs: number
}

/** Makes what one test is run on: called once a test. */
export type MakeChargeStore = () => ChargeStoreHarness | Promise<ChargeStoreHarness>

export type Scene = Awaited<ReturnType<typeof scene>>

export async function scene(make: MakeChargeStore) {
  const { store, advance, leaseMs } = await make()
  const slot = `slot-${randomUUID()}`
  const windowMs = 4 * leaseMs
  const txId = (name: string) => `${name}-${slot}`
  const recordedOf = (hold: Hold, answer: string): Recorded => ({
    answer: bytes(answer),
    ...(hold.payment && { payment: { txId: hold.payment, firstValid: 1n, lastValid: 2n ** 53n + 1n } }),
  })
  return {
    store,
    advance,
    leaseMs,
    windowMs,
    txId,
    /** A call under the slot's one key, for the payment `p`; `null` leaves a half out. */
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
      store.close({ ...hold, how, windowMs, ...(answer !== undefined && { answer: bytes(answer) }) }),
    renew: async (hold: Hold) => (await store.renew([hold], leaseMs))[0],
    resolve: (hold: Hold, verdict: ResolveMove['verdict'], payment = 'p') =>
      store.resolve({ ...hold, verdict, txId: txId(payment), windowMs, leaseMs }),
  }
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

export function text(answer: Uint8Array): string {
  return new TextDecoder().decode(answer)
}

/** A call that opened, recorded and died, and whose lease is over. */
export async function orphan(s: Scene, answer = 'answer'): Promise<Hold> {
  const dead = s.call('dead')
  await s.open(dead)
  await s.record(dead, answer)
  await s.advance(s.leaseMs)
  return dead
}
