/** What a seller looks for first: what needs a hand. It knows no element of the page. */
import type { RunView } from '../page-events.js'
import { isInDoubt, resultOf } from './statistics.js'

export interface Need {
  readonly what: string
  readonly says: string
  /** The calls that it is about, oldest first; absent where it is about none. */
  readonly runs?: readonly RunView[]
}

const HOUR_MS = 3_600_000
/** An endpoint fails where half of its latest calls did, of at least three. */
const LATEST = 10
const LATEST_MIN = 3

/** The gravest first. `nowMs` is the server's. */
export function needsOf(runs: readonly RunView[], nowMs: number, walletLacks?: string): readonly Need[] {
  const hour = runs.filter(({ startedMs }) => startedMs >= nowMs - HOUR_MS)
  const wallet = { what: 'Nobody can pay your wallet', says: `${walletLacks}. svc doctor says what to do.` }
  const needs: Need[] = [
    ...(walletLacks === undefined ? [] : [wallet]),
    {
      what: 'Payments that landed after their calls ended in doubt',
      says: 'svc refunds says what is owed.',
      runs: runs.filter(({ landed }) => landed === true),
    },
    {
      what: 'Paid streams that broke on your side',
      says: 'svc refunds says what is owed.',
      runs: runs.filter(({ brokenBy, charged }) => brokenBy === 'seller' && charged === 'yes'),
    },
    {
      what: 'Payments in doubt',
      says: 'Look them up, and never ask to pay again: svc audit says what became of them.',
      runs: runs.filter(isInDoubt),
    },
    {
      what: 'Calls of the last hour without a facilitator that answers',
      says: 'svc doctor says why.',
      runs: hour.filter(({ code }) => code === 'facilitator_unavailable'),
    },
    {
      what: 'Settlements that differ from their payments',
      says: 'The facilitator named another transaction, payer or network.',
      runs: runs.filter(({ mismatch }) => mismatch !== undefined),
    },
    ...failing(runs),
  ]
  return needs.filter(({ runs }) => runs?.length !== 0)
}

function failing(runs: readonly RunView[]): Need[] {
  const latest = new Map<string, RunView[]>()
  for (const run of runs) {
    const result = resultOf(run)
    if (result === 'quoted' || result === 'refused') continue
    latest.set(run.endpoint, [...(latest.get(run.endpoint) ?? []), run].slice(-LATEST))
  }
  return [...latest].flatMap(([endpoint, all]) => {
    const failed = all.filter(run => resultOf(run) === 'failed')
    const isFailing = all.length >= LATEST_MIN && failed.length * 2 >= all.length
    const what = `Failures among the latest ${all.length} calls of ${endpoint}`
    return isFailing ? [{ what, says: 'They were not charged.', runs: failed }] : []
  })
}
