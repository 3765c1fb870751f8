/** The rules of the charge and of tasks, from the options that a seller gave. */
import { shown } from '../../domain/errors.js'
import { readPeriodMs } from '../../domain/subscription-period.js'
import { isWebUrl } from '../../domain/web-url.js'
import type { CreditTerms } from '../../ports/handler-credit.js'
import { DEFAULT_TIMEOUTS, type Rate, type Rules, type Timeouts } from '../charge/charge-deps.js'
import type { TaskTerms } from '../tasks/tasks-over-store.js'
import { boolean, invalid, oneOf, positive } from './option-checks.js'
import type { ServerOptions } from './server-options.js'

const RETENTION_DEFAULT_MS = 600_000
const ANSWER_BYTES_DEFAULT_MAX = 1_048_576
const KEEP_ANSWERS_DEFAULT = '2m'
const SEAL_SECRET_LENGTH_MIN = 32
/** The payment's record lives a little longer than an hour. */
const KEEP_ANSWERS_MAX_MS = 3_600_000

/** @throws SvcError `invalid_options` */
export function rulesOf(options: ServerOptions): Rules {
  const { rateLimit, idempotency, credit, requireReadable, confirm, timeouts } = options
  return {
    uncountedAdmitted:
      oneOf('rateLimit.onStoreDown', rateLimit?.onStoreDown ?? 'refuse', ['refuse', 'admit']) === 'admit',
    idempotency: idempotency && {
      onLostResponse: oneOf('idempotency.onLostResponse', idempotency.onLostResponse ?? 'release', [
        'release',
        'replay',
      ]),
      required: boolean('idempotency.required', idempotency.required ?? false),
    },
    retentionMs: positive('idempotency.windowMs', idempotency?.windowMs ?? RETENTION_DEFAULT_MS),
    keepAnswersMs: keepAnswersMs(options.keepAnswers),
    sealSecrets: sealSecrets(options.sealSecret),
    publicUrl: publicUrl(options.publicUrl),
    answerBytesMax: positive(
      'idempotency.maxAnswerBytes',
      idempotency?.maxAnswerBytes ?? ANSWER_BYTES_DEFAULT_MAX,
    ),
    credit: credit === false ? undefined : creditOf(credit),
    requireReadable: requireReadable ?? true,
    confirmOnChain: oneOf('confirm', confirm ?? 'facilitator', ['facilitator', 'chain']) === 'chain',
    timeouts: timeoutsOf(timeouts),
  }
}

function publicUrl(given: unknown): string | undefined {
  if (given === undefined || isWebUrl(given)) return given
  throw invalid(`publicUrl is the agent's http or https URL, not ${shown(given)}`)
}

function keepAnswersMs(given: ServerOptions['keepAnswers']): number {
  if (given === false) return 0
  const ms = readPeriodMs(given ?? KEEP_ANSWERS_DEFAULT)
  if (ms !== undefined && ms <= KEEP_ANSWERS_MAX_MS) return ms
  throw invalid(`keepAnswers is a duration of at most an hour, such as '2m', or false, not ${shown(given)}`)
}

/** Words say nothing of what was given: it is a secret. */
function sealSecrets(given: ServerOptions['sealSecret'] = []): readonly string[] {
  const secrets = typeof given === 'string' ? [given] : given
  if (Array.isArray(secrets) && secrets.every(isSealSecret)) return secrets
  throw invalid(`sealSecret is a text of at least ${SEAL_SECRET_LENGTH_MIN} characters, or a list of them`)
}

function isSealSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret.length >= SEAL_SECRET_LENGTH_MIN
}

/** Together 64 MiB at most. */
const TASKS_MAX = 1_000
const TASK_BYTES_MAX = 65_536

/** @throws SvcError `invalid_options` */
export function taskTermsOf(given: ServerOptions['tasks'] = {}): TaskTerms {
  const { max = TASKS_MAX, maxInputBytes = TASK_BYTES_MAX } = given
  return {
    max: positive('tasks.max', max),
    inputBytesMax: positive('tasks.maxInputBytes', maxInputBytes),
  }
}

/** @throws SvcError `invalid_options` */
export function rateOf(rateLimit: ServerOptions['rateLimit']): Rate | undefined {
  if (!rateLimit) return undefined
  const perMinute = positive('rateLimit.perMinute', rateLimit.perMinute)
  return { perMinute, per: oneOf('rateLimit.per', rateLimit.per ?? 'payer', ['payer', 'ip']), bucket: '' }
}

const CREDIT: CreditTerms = { start: 8, max: 64, idleMs: 600_000 }

function creditOf(given: Partial<CreditTerms> = {}): CreditTerms {
  const { start = CREDIT.start, idleMs = CREDIT.idleMs } = given
  const terms = { start, max: given.max ?? Math.max(start, CREDIT.max), idleMs }
  for (const [name, value] of Object.entries(terms)) positive(`credit.${name}`, value)
  if (terms.max >= start) return terms
  throw invalid(`credit.max is at least credit.start, not ${terms.max}`)
}

function timeoutsOf(given: ServerOptions['timeouts'] = {}): Timeouts {
  const chosen = Object.entries(given).filter(([, ms]) => ms !== undefined)
  return {
    ...DEFAULT_TIMEOUTS,
    ...Object.fromEntries(chosen.map(([name, ms]) => [name, positive(`timeouts.${name}`, ms)])),
  }
}
