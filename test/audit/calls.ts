/** Calls that ended, made up by walking the charge machine: every kind of end, in any number. */

import type { JournalHeader } from '../../src/audit/journal/line-format.js'
import { allPathsOf } from '../../src/audit/proofs/check-machine-properties.js'
import { reportsCharge } from '../../src/domain/income-bookings.js'
import { type ChargeFinal, chargeTable, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import type { EndedCall } from '../../src/ports/call-observer.js'

const ways = allPathsOf(chargeTable)

/** How many ways there are through the charge machine. */
export const WAYS = ways.length

export const PAYER = 'PAYERPAYERPAYERPAYERPAYERPAYERPAYERPAYERPAYERPAYERPAYERPAY'
export const ASSET = '10458941'
export const AMOUNT = '10000'
export const PAY_TO = 'SELLER'.padEnd(58, 'A')
export const HEADER: JournalHeader = {
  journal: 1,
  agent: 'test-agent',
  network: 'testnet',
  payTo: PAY_TO,
  asset: ASSET,
}
export const STARTED_MS = Date.UTC(2026, 0, 2, 3, 4, 5)
export const STEPS = Object.entries(chargeTable.rows).flatMap(([state, { on }]) =>
  Object.keys(on).map(event => `${state}.${event}`),
)

/** The call of this number: its way through the machine goes round all there are. */
export function callOf(number: number, other: Partial<EndedCall> = {}): EndedCall {
  const { steps, final } = ways[number % ways.length]!
  return { ...callOn(steps, final as ChargeFinal, number), ...other }
}

/** A call that learns that an earlier call's payment landed, and replays its answer. */
export const recoveredPath = pathEndingIn('recovering.found')
export const replayedPath = pathEndingIn('opening.replayable')
export const settledPath = ways.find(({ final }) => final === 'settled')!.steps

export function pathEndingIn(step: string): readonly string[] {
  return ways.find(({ steps }) => steps.at(-1) === step)!.steps
}

/** A way to this end that begins so. */
export function pathTo(final: ChargeFinal, begins: readonly string[]): readonly string[] {
  return ways.find(way => way.final === final && begins.every((step, at) => way.steps[at] === step))!.steps
}

export function callOn(path: readonly string[], final: ChargeFinal, number = 0): EndedCall {
  const { status, code, charged } = OUTCOMES[final]
  const reports = reportsCharge({ charged, path })
  return {
    id: `call-${number}`,
    traceId: number.toString(16).padStart(32, '0'),
    endpoint: number % 2 === 0 ? 'even' : 'odd',
    final,
    path,
    timingsMs: path.map((_, at) => at + 0.5),
    status,
    code,
    charged,
    startedMs: STARTED_MS + number * 1_000,
    ms: path.length,
    payer: PAYER,
    ...((path.includes('pricing.presented') || reports) && { txId: txIdOf(number) }),
    ...(reports && { amount: AMOUNT, asset: ASSET }),
  }
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** As long as a transaction's id, of its letters, and another for each number. */
export function txIdOf(number: number): string {
  const letters = Array.from({ length: 8 }, (_, at) => BASE32[(number >>> (at * 4)) & 15]!)
  return letters.reverse().join('').padStart(52, 'T')
}
