/** The options that decide how a call is charged: what they mean, their checks and their defaults. */
import { shown } from '../../domain/errors.js'
import {
  flag,
  group,
  groupOrOff,
  invalid,
  type Option,
  oneOf,
  optional,
  positive,
  type ReadOptions,
} from '../../domain/options.js'
import { readPeriodMs } from '../../domain/subscription-period.js'
import { isWebUrl } from '../../domain/web-url.js'
import { type CounterTerms, perMinute } from '../../ports/counters.js'
import { DEFAULT_TIMEOUTS, type Rate, type Rules, type Timeouts } from '../charge/charge-deps.js'

/** The options of {@link ServerOptions} that decide how a call is charged. */
export interface ChargeOptions {
  /** The rate limit of each caller. @default off */
  readonly rateLimit?: {
    /** Calls a minute to all endpoints together, except endpoints with their own limit. */
    readonly perMinute: number
    /** What identifies one caller: the payer, or the network address (of IPv6, its /64). @default 'payer' */
    readonly per?: 'payer' | 'ip'
    /** What happens to calls that cannot be counted. @default 'refuse' */
    readonly onStoreDown?: 'refuse' | 'admit'
  }
  /**
   * Calls under one `Idempotency-Key` are one call. The id of the x402 extension `payment-identifier` is the same key.
   *
   * @default off: every call is separate
   */
  readonly idempotency?: IdempotencyOptions
  /**
   * How long the answer of a call without a key is kept, at most `1h`; `false` for not at all. Its payer gets a lost answer again by the
   * same request and payment, and a proof (`SIGN-IN-WITH-X`). @default '2m'
   */
  readonly keepAnswers?: string | false
  /**
   * A secret of the seller, the same on all replicas: at least 32 random characters. Kept answers are sealed with it besides, so that a
   * reader of the store and the chain can read none; and an answer that sold a window is kept until the window ends. The first of
   * several seals, and all open: that is how a secret is changed. @default none
   */
  readonly sealSecret?: string | readonly string[]
  /** The agent's own address, where callers' proofs are to be compared with it instead of the address that they ask. @default none */
  readonly publicUrl?: string
  /**
   * How many unsettled runs of a handler a payer may have: a payment can be verified and still fail to settle. A run takes one
   * credit. A call that settles gives it back and one more; one that fails by the seller's fault gives it back; a hang-up, or a
   * payment that did not settle, does not. A call without credit waits up to `timeouts.creditMs`, then ends with 429
   * `too_many_unpaid_calls`. `false` sets no limit.
   *
   * @default `{ start: 8, max: 64, idleMs: 600000 }`
   */
  readonly credit?:
    | false
    | {
        /** How many runs an unknown payer may have before any of them is settled. */
        readonly start?: number
        /** The most runs that a payer can earn. */
        readonly max?: number
        /** After this many milliseconds without a change, a payer is unknown again. */
        readonly idleMs?: number
      }
  /** Tasks of A2A clients that pay in messages. Such a task waits for its payment as long as its quote lives. */
  readonly tasks?: {
    /** The most tasks that wait or are worked on. One address has at most a quarter of them. @default 1000 */
    readonly max?: number
    /** The most bytes of a task's input, as JSON. @default 65536 */
    readonly maxInputBytes?: number
  }
  /**
   * Refuse payments in which no signed transaction can be read. If such payments are accepted, only the facilitator
   * checks them: they have no id, so one payment may run the handler more than once.
   *
   * @default true
   */
  readonly requireReadable?: boolean
  /** What confirms a settlement. `chain` looks every settlement up before the answer is sent. @default 'facilitator' */
  readonly confirm?: 'facilitator' | 'chain'
  /** How long the steps of a call may take. */
  readonly timeouts?: Partial<Timeouts>
}

/** How long answers are kept for callers that retry with the same key. */
export interface IdempotencyOptions {
  /** How long a completed answer is replayed, in milliseconds. @default 600000 */
  readonly windowMs?: number
  /** How many answers are kept in this process's memory. A new answer replaces the oldest. @default 500 */
  readonly max?: number
  /**
   * What happens when an answer was settled but could not be delivered. `release` frees the key, and a retry may be
   * charged again. `replay` keeps the answer, and a retry receives it.
   *
   * @default 'release'
   */
  readonly onLostResponse?: 'release' | 'replay'
  /**
   * Refuse payments without a key (400 `idempotency_key_required`): a caller without one may pay twice for one answer.
   * Quotes say that a key is required.
   *
   * @default false
   */
  readonly required?: boolean
  /**
   * The largest answer that is kept, in bytes. A larger one is delivered and charged. A retry with its key is 409
   * `answer_not_kept` with the transaction id.
   *
   * @default 1048576
   */
  readonly maxAnswerBytes?: number
}

/** Answers are kept without keys, too. */
const ANSWERS = { windowMs: 600_000, maxAnswerBytes: 1_048_576 }

const IDEMPOTENCY = {
  windowMs: positive(ANSWERS.windowMs),
  max: optional(positive()),
  onLostResponse: oneOf(['release', 'replay'], 'release'),
  required: flag(false),
  maxAnswerBytes: positive(ANSWERS.maxAnswerBytes),
} satisfies Record<keyof IdempotencyOptions, Option<unknown>>

/** The payment's record lives a little longer than an hour. */
const KEEP_ANSWERS_MAX_MS = 3_600_000

const keptMs: Option<number> = (given = '2m') => {
  if (given === false) return 0
  const ms = readPeriodMs(given)
  if (ms !== undefined && ms <= KEEP_ANSWERS_MAX_MS) return ms
  throw invalid(`keepAnswers is a duration of at most an hour, such as '2m', or false, not ${shown(given)}`)
}

const SEAL_SECRET_LENGTH_MIN = 32

/** The words say nothing of what was given: it is a secret. */
const sealSecrets: Option<readonly string[]> = (given = []) => {
  const secrets = typeof given === 'string' ? [given] : given
  if (Array.isArray(secrets) && secrets.every(isSealSecret)) return secrets
  throw invalid(`sealSecret is a text of at least ${SEAL_SECRET_LENGTH_MIN} characters, or a list of them`)
}

function isSealSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret.length >= SEAL_SECRET_LENGTH_MIN
}

const ownUrl: Option<string | undefined> = given => {
  if (given === undefined || isWebUrl(given)) return given
  throw invalid(`publicUrl is the agent's http or https URL, not ${shown(given)}`)
}

const START_CREDIT = 8
const MAX_CREDIT = 64

/** A run is counted until it is settled. A settled one gives back two, so a payer with `max` has fewer than none that are not. */
const credit: Option<CounterTerms | undefined> = given => {
  if (given === false) return undefined
  const table = { start: positive(START_CREDIT), max: optional(positive()), idleMs: positive(600_000) }
  const { start, max = Math.max(start, MAX_CREDIT), idleMs } = group(table)(given, 'credit')
  if (max >= start) return { max: start, floor: start - max, periodMs: idleMs, isRenewed: true }
  throw invalid(`credit.max is at least credit.start, not ${max}`)
}

const timeouts = Object.fromEntries(
  Object.entries(DEFAULT_TIMEOUTS).map(([name, ms]) => [name, positive(ms)]),
) as { readonly [Name in keyof Timeouts]: Option<number> }

export const CHARGE_OPTIONS = {
  rateLimit: groupOrOff({
    perMinute: positive(),
    per: oneOf(['payer', 'ip'], 'payer'),
    onStoreDown: oneOf(['refuse', 'admit'], 'refuse'),
  }),
  idempotency: groupOrOff(IDEMPOTENCY),
  keepAnswers: keptMs,
  sealSecret: sealSecrets,
  publicUrl: ownUrl,
  credit,
  // Together 64 MiB at most.
  tasks: group({ max: positive(1_000), maxInputBytes: positive(65_536) }),
  requireReadable: flag(true),
  confirm: oneOf(['facilitator', 'chain'], 'facilitator'),
  timeouts: group(timeouts),
} satisfies Record<keyof ChargeOptions, Option<unknown>>

export function rulesOf(read: ReadOptions<typeof CHARGE_OPTIONS>): Omit<Rules, 'keepsMessages'> {
  const {
    rateLimit,
    idempotency,
    keepAnswers,
    sealSecret,
    publicUrl,
    credit,
    requireReadable,
    confirm,
    timeouts,
  } = read
  const { windowMs, maxAnswerBytes } = idempotency ?? ANSWERS
  return {
    uncountedAdmitted: rateLimit?.onStoreDown === 'admit',
    idempotency,
    retentionMs: windowMs,
    keepAnswersMs: keepAnswers,
    sealSecrets: sealSecret,
    publicUrl,
    answerBytesMax: maxAnswerBytes,
    credit,
    requireReadable,
    confirmOnChain: confirm === 'chain',
    timeouts,
  }
}

/** The limit of endpoints without one of their own. */
export function rateOf({ rateLimit }: ReadOptions<typeof CHARGE_OPTIONS>): Rate | undefined {
  return rateLimit && { terms: perMinute(rateLimit.perMinute), per: rateLimit.per, bucket: '' }
}
