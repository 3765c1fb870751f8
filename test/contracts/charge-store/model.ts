/** Random moves of several calls against a reference that is written to be read, and two invariants that need none. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Hold, Opened, Resolved } from '../../../src/ports/charge-store.js'
import { type MakeChargeStore, type Scene, scene, text } from '../../../src/testing/charge-store/fixture.js'
import { Invariants } from './invariants.js'
import { Reference } from './reference.js'

const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      key: fc.constantFrom('k1', 'k1', 'k2', null),
      body: fc.constantFrom('body', 'body', 'body', 'another body'),
      payment: fc.constantFrom('p1', 'p1', 'p2', 'p3', null),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resend' as const), who: fc.nat(9) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('record' as const), who: fc.nat(9) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('close' as const),
      who: fc.nat(9),
      how: fc.constantFrom('complete' as const, 'forfeit' as const, 'release' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('renew' as const), who: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('resolve' as const),
      who: fc.nat(9),
      verdict: fc.constantFrom('found' as const, 'dead' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), halves: fc.constantFrom(1, 2) }),
  },
)

interface Call {
  readonly hold: Hold
  /** The payment that an orphaned open named. */
  orphanTxId?: string
}

export interface ModelOptions {
  /** Random histories, one after the other. */
  readonly runs: number
  /** So many times over, at once: where time is real, a history waits for up to 40 leases. */
  readonly atOnce?: number
}

export function chargeStoreModelContract(
  name: string,
  make: MakeChargeStore,
  { runs, atOnce = 1 }: ModelOptions,
): void {
  describe(`charge store against a reference: ${name}`, () => {
    it(`answers ${runs * atOnce} random histories as the reference does`, async () => {
      await Promise.all(Array.from({ length: atOnce }, () => histories(make, runs)))
    })
  })
}

/** @throws Error at the first history that the store answers otherwise than the reference. */
export async function histories(make: MakeChargeStore, runs: number, seed?: number): Promise<void> {
  const moves = fc.array(move, { minLength: 5, maxLength: 40 })
  const property = fc.asyncProperty(moves, async history => replay(await scene(make), history))
  await fc.assert(property, { numRuns: runs, ...(seed !== undefined && { seed }) })
}

async function replay(s: Scene, moves: readonly (typeof move extends fc.Arbitrary<infer M> ? M : never)[]) {
  const reference = new Reference(s.leaseMs, s.retentionMs)
  const invariants = new Invariants()
  const calls: Call[] = []
  const openAs = async (call: Call) => {
    const opened = await s.open(call.hold)
    expect(shown(opened)).toEqual(reference.open(call.hold))
    if (opened.verdict === 'orphaned') call.orphanTxId = opened.recorded.payment?.txId
    invariants.opened(call.hold, opened)
  }
  for (const step of moves) {
    if (step.kind === 'open') {
      const call = { hold: s.call(`token-${calls.length}`, step) }
      calls.push(call)
      await openAs(call)
      continue
    }
    if (step.kind === 'advance') {
      await s.advance((step.halves * s.leaseMs) / 2)
      reference.nowMs += (step.halves * s.leaseMs) / 2
      continue
    }
    const call = calls[step.who % Math.max(1, calls.length)]
    if (!call) continue
    const { hold } = call
    if (step.kind === 'resend') await openAs(call)
    if (step.kind === 'record') {
      const verdict = await s.record(hold, `answer of ${hold.token}`)
      expect(verdict).toBe(reference.record(hold, `answer of ${hold.token}`))
      if (verdict === 'recorded') invariants.recorded(hold)
    }
    if (step.kind === 'close') {
      const answer = `answer of ${hold.token}`
      expect(await s.close(hold, step.how, answer)).toBe(reference.close(hold, step.how, answer))
      invariants.closed(hold, step.how)
    }
    if (step.kind === 'renew') expect(await s.renew(hold)).toBe(reference.renew(hold))
    if (step.kind === 'resolve' && call.orphanTxId) {
      const { retentionMs, leaseMs } = s
      const resolving = { ...hold, verdict: step.verdict, txId: call.orphanTxId, retentionMs, leaseMs }
      const verdict: Resolved = await s.store.resolve(resolving)
      expect(verdict).toBe(reference.resolve(hold, call.orphanTxId, step.verdict))
      invariants.resolved(call.orphanTxId, step.verdict)
    }
  }
}

/** A verdict as the reference gives it: without how long to wait, and with the answer as text. */
function shown(opened: Opened): string {
  if (opened.verdict === 'replayable') return `replayable ${text(opened.answer)}`
  if (opened.verdict === 'orphaned') {
    return `orphaned ${text(opened.recorded.answer)} ${opened.recorded.payment?.txId}`
  }
  return opened.verdict
}
