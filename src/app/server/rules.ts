/** The rules of the charge, from the options that a seller gave. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import type { CreditTerms } from '../../ports/credit.js'
import { type Budgets, DEFAULT_BUDGETS, type Rate, type Rules } from '../charge/world.js'
import { oneOf, positive, type ServerOptions } from './options.js'

const KEPT_DEFAULT_MS = 600_000
const ANSWER_BYTES_DEFAULT_MAX = 1_048_576

/** An endpoint's own limit, else the server's; `undefined` where neither counts. */
export function rateOf(
  { name, rateLimit: own }: EndpointDef,
  { rateLimit }: ServerOptions,
): Rate | undefined {
  if (own === false) return undefined
  if (own) return { perMinute: own.perMinute, per: own.per ?? 'payer', bucket: `${name}:` }
  if (!rateLimit) return undefined
  const perMinute = positive('rateLimit.perMinute', rateLimit.perMinute)
  return { perMinute, per: oneOf('rateLimit.per', rateLimit.per ?? 'payer', ['payer', 'ip']), bucket: '' }
}

export function rulesOf(options: ServerOptions): Rules {
  const { rateLimit, idempotency, credit, requireReadable, confirm, budgets } = options
  return {
    uncountedAdmitted:
      oneOf('rateLimit.onStoreDown', rateLimit?.onStoreDown ?? 'refuse', ['refuse', 'admit']) === 'admit',
    idempotency: idempotency && {
      onLostResponse: oneOf('idempotency.onLostResponse', idempotency.onLostResponse ?? 'release', [
        'release',
        'replay',
      ]),
    },
    keptMs: positive('idempotency.windowMs', idempotency?.windowMs ?? KEPT_DEFAULT_MS),
    answerBytesMax: positive(
      'idempotency.maxAnswerBytes',
      idempotency?.maxAnswerBytes ?? ANSWER_BYTES_DEFAULT_MAX,
    ),
    credit: credit === false ? undefined : creditOf(credit),
    requireReadable: requireReadable ?? true,
    confirmOnChain: oneOf('confirm', confirm ?? 'facilitator', ['facilitator', 'chain']) === 'chain',
    budgets: budgetsOf(budgets),
  }
}

const CREDIT: CreditTerms = { start: 8, max: 64, idleMs: 600_000 }

function creditOf(given: Partial<CreditTerms> = {}): CreditTerms {
  const { start = CREDIT.start, idleMs = CREDIT.idleMs } = given
  const terms = { start, max: given.max ?? Math.max(start, CREDIT.max), idleMs }
  for (const [name, value] of Object.entries(terms)) positive(`credit.${name}`, value)
  if (terms.max >= start) return terms
  throw new SvcError(`credit.max is at least credit.start, not ${terms.max}`, 'invalid_options')
}

function budgetsOf(given: ServerOptions['budgets'] = {}): Budgets {
  const chosen = Object.entries(given).filter(([, ms]) => ms !== undefined)
  return {
    ...DEFAULT_BUDGETS,
    ...Object.fromEntries(chosen.map(([name, ms]) => [name, positive(`budgets.${name}`, ms)])),
  }
}
