/** Faults of a balance to find, each put into a copy of the decision on its way into the bundle. */
import { plant } from './plants.mjs'

const UNITS = 'src/domain/charge-store/balance-units.ts'
const CLOSING = 'src/domain/charge-store/transition.ts'
const DECISION = 'src/domain/charge-store/transition.ts'
const RECORDS = 'src/domain/charge-store/records.ts'

const TWO_KEYS = 'a balance, two keys'
const ONE_KEY = 'a balance, one key twice'
const OF_THREE = 'a balance, one key twice and another'

/** @type {readonly import('./plants.mjs').Plant[]} */
export const BALANCE_PLANTS = [
  plant(
    'count-again',
    'A count that is sent again counts again.',
    CLOSING,
    "isCompleted(claim)) return unchanged('closed')",
    "isCompleted(claim)) return { ...unchanged('closed'), units: charged(findUnits(records, move, nowMs), move.charge) }",
    TWO_KEYS,
  ),
  plant(
    'count-superseded',
    'A call whose claim another call has counts.',
    CLOSING,
    'const isCounted = move.charge !== undefined && claims[0] !== undefined && isCompleted(claims[0])',
    'const isCounted = move.charge !== undefined',
    ONE_KEY,
  ),
  plant(
    'count-unfenced',
    'A count does not check the token of the claim.',
    CLOSING,
    "claim?.token === move.token && (!claimLists(claim, 'orphaned') || claim.kept!.by === move.token)",
    'claim !== undefined',
    ONE_KEY,
  ),
  plant(
    'count-frees-key',
    'A charge without an answer frees its key.',
    CLOSING,
    ' || (charge !== undefined && !claim.kept)',
    '',
    ONE_KEY,
  ),
  plant(
    'count-below-nothing',
    'A late count takes from what is not there.',
    UNITS,
    'Math.max(0, units.unused - wholeUnits(charge))',
    'units.unused - wholeUnits(charge)',
    TWO_KEYS,
  ),
  plant(
    'done-reserves',
    'A call that is done keeps what it has reserved.',
    CLOSING,
    ', reserved: undefined }',
    ' }',
    TWO_KEYS,
  ),
  plant(
    'take-unused',
    'A take sees what others have reserved as free.',
    UNITS,
    'most > free',
    'most > unused',
    TWO_KEYS,
  ),
  plant(
    'take-lapsed-twice',
    'A call that takes over a lapsed claim gets what that had reserved once more.',
    UNITS,
    'before && nowMs < before.leaseEndsMs',
    'before',
    OF_THREE,
  ),
  plant(
    'take-again-short',
    'A take that is sent again is short of what it has reserved itself.',
    UNITS,
    ' + replaced)',
    ')',
    TWO_KEYS,
  ),
  plant(
    'take-withheld',
    'A balance gives its last units to nobody.',
    UNITS,
    'most > free',
    'most >= free',
    ONE_KEY,
  ),
  plant(
    'take-after-end',
    'A call takes after the end.',
    UNITS,
    "nowMs < units.endsAtMs ? units : { ...units, state: next(subscriptionTable, units.state, 'ended') }",
    'units',
    TWO_KEYS,
  ),
  plant(
    'take-over-reserves',
    'A claim that is opened again has reserved what it had before.',
    RECORDS,
    'reserved: undefined,',
    'reserved: claim?.reserved,',
    ONE_KEY,
  ),
  plant(
    'renew-loses',
    'A renewal loses what its call has reserved.',
    DECISION,
    "state: claimAfter(claim, 'renewed'),",
    "state: claimAfter(claim, 'renewed'), reserved: undefined,",
    TWO_KEYS,
  ),
  plant(
    'forgotten-at-work',
    'A balance is forgotten at its end, although calls have reserved of it.',
    UNITS,
    'return { ...units, expiresAtMs: Math.max(units.expiresAtMs, expiresAtMs) }',
    'return units',
    TWO_KEYS,
  ),
  plant(
    'sold-again',
    'A sale that is sent again restores what was counted.',
    UNITS,
    ' || findUnits(records, { slot, hasUnits: true }, nowMs)) return',
    ') return',
    TWO_KEYS,
  ),
  plant(
    'sold-late',
    'A sale that comes after the end sells.',
    UNITS,
    'nowMs >= expiresAtMs || ',
    '',
    TWO_KEYS,
  ),
]
