/** The options that decide how a call is charged: what they mean, their checks and their defaults. */
import { shown } from '../../../domain/errors.js'
import {
  flag,
  groupOrOff,
  invalid,
  type Option,
  oneOf,
  optional,
  positive,
  type ReadOptions,
  such,
} from '../../../domain/option-checks.js'
import { readPeriodMs } from '../../../domain/period.js'
import { isWebUrl } from '../../../domain/untrusted-text.js'
import type { Rules } from '../../charge/charge-deps.js'
import type { ADVANCED_OPTIONS } from './advanced-options.js'

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
  /** What confirms a settlement. `chain` looks every settlement up before the answer is sent. @default 'facilitator' */
  readonly confirm?: 'facilitator' | 'chain'
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
  const isLong = (secret: unknown) => typeof secret === 'string' && secret.length >= SEAL_SECRET_LENGTH_MIN
  if (Array.isArray(secrets) && secrets.every(isLong)) return secrets
  throw invalid(`sealSecret is a text of at least ${SEAL_SECRET_LENGTH_MIN} characters, or a list of them`)
}

export const CHARGE_OPTIONS = {
  rateLimit: groupOrOff({
    perMinute: positive(),
    per: oneOf(['payer', 'ip'], 'payer'),
    onStoreDown: oneOf(['refuse', 'admit'], 'refuse'),
  }),
  idempotency: groupOrOff(IDEMPOTENCY),
  keepAnswers: keptMs,
  sealSecret: sealSecrets,
  publicUrl: optional(such<string>(isWebUrl, "the agent's http or https URL")),
  confirm: oneOf(['facilitator', 'chain'], 'facilitator'),
} satisfies Record<keyof ChargeOptions, Option<unknown>>

export function rulesOf(
  read: ReadOptions<typeof CHARGE_OPTIONS & typeof ADVANCED_OPTIONS>,
): Omit<Rules, 'keepsMessages'> {
  const { rateLimit, idempotency } = read
  const { windowMs, maxAnswerBytes } = idempotency ?? ANSWERS
  return {
    uncountedAdmitted: rateLimit?.onStoreDown === 'admit',
    idempotency,
    retentionMs: windowMs,
    keepAnswersMs: read.keepAnswers,
    sealSecrets: read.sealSecret,
    publicUrl: read.publicUrl,
    answerBytesMax: maxAnswerBytes,
    credit: read.credit,
    requireReadable: read.requireReadable,
    confirmOnChain: read.confirm === 'chain',
    timeouts: read.timeouts,
  }
}
