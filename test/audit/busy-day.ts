/** Made-up calls of a busy afternoon, always the same: what pictures of the audit page show. */
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import { callOn, pathTo, settledPath } from './calls.js'

const HOUR_MS = 3_600_000
const HOURS = 6
export const ENDPOINTS = ['summarise', 'translate', 'extract', 'classify'] as const
const PRICES = { summarise: '20000', translate: '10000', extract: '50000', classify: '2000' } as const
/** How long each endpoint's handler usually works, in milliseconds. */
const WORK_MS = { summarise: 1_400, translate: 620, extract: 2_900, classify: 90 } as const

const PAID = ['received.admitted', 'opening.opened', 'validating.valid', 'entitling.uncovered']
const ENDS: readonly (readonly [share: number, final: ChargeFinal, begins?: readonly string[]])[] = [
  [0.48, 'settled'],
  [0.36, 'quoted', PAID],
  [0.05, 'replayed', ['received.admitted', 'opening.replayable']],
  [0.03, 'refused', PAID],
  [0.025, 'invalid', ['received.admitted', 'opening.opened']],
  [0.02, 'failed', PAID],
  [0.012, 'timedOut', PAID],
  [0.015, 'limited', ['received.limited']],
  [0.006, 'inDoubt', PAID],
  [0.002, 'unavailable', PAID],
]

const PAYERS = Array.from({ length: 9 }, (_, number) => letters(58, sequence(number * 977 + 5)))

export function busyDay(untilMs: number, count = 900): EndedCall[] {
  const random = sequence(7)
  const starts = Array.from({ length: count }, () => wave(random) * HOURS * HOUR_MS).sort((a, b) => a - b)
  return starts.map((sinceMs, number) => {
    const endpoint = ENDPOINTS[Math.floor(random() ** 1.7 * ENDPOINTS.length)]!
    const [, final, begins] = pick(random())
    const steps = final === 'settled' ? settledPath : pathTo(final, begins ?? [])
    const call = callOn(steps, final, number)
    const timingsMs = steps.map(step => timeOf(step, endpoint, random))
    return {
      ...call,
      endpoint,
      timingsMs,
      ms: Math.round(timingsMs.reduce((a, b) => a + b, 0)),
      startedMs: Math.round(untilMs - HOURS * HOUR_MS + sinceMs),
      ...(call.txId && { txId: letters(52, random) }),
      payer: PAYERS[Math.floor(random() ** 2.2 * PAYERS.length)],
      ...(call.amount && { amount: PRICES[endpoint] }),
      ...(final === 'failed' && {
        error: 'TypeError: Cannot read properties of undefined (reading ‘title’)',
        logs: [{ atMs: untilMs, message: 'fetched the document', data: { bytes: 48_213 } }],
      }),
    }
  })
}

function timeOf(step: string, endpoint: keyof typeof WORK_MS, random: () => number): number {
  const state = step.split('.')[0]!
  const usual: Readonly<Record<string, number>> = {
    verifying: 42,
    delivering: WORK_MS[endpoint],
    settling: 480,
    reconciling: 4_000,
  }
  // Most are near the usual, a few take many times as long.
  return (usual[state] ?? 0.12) * (0.6 + random() * 0.7 + random() ** 14 * 5)
}

function pick(at: number) {
  const sums = ENDS.map((_, place) => ENDS.slice(0, place + 1).reduce((sum, [share]) => sum + share, 0))
  return ENDS[sums.findIndex(sum => sum > at)] ?? ENDS[0]!
}

/** More calls in the middle and at the end. */
function wave(random: () => number): number {
  for (;;) {
    const at = random()
    if (random() < 0.25 + 0.5 * Math.sin(at * 7) ** 2 + 0.25 * at) return at
  }
}

/** As in addresses and transaction ids. */
function letters(length: number, random: () => number): string {
  return Array.from({ length }, () => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Math.floor(random() * 32)]).join('')
}

/** Numbers that look random, and are always the same (mulberry32). */
function sequence(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
