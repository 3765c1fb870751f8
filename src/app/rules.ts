/** The rules of the charge, from the options that a seller gave. */
import type { EndpointDef } from '../domain/endpoint.js'
import { DEFAULT_BUDGETS, type Rate, type Rules } from './charge/world.js'
import { positive, type ServerOptions } from './options.js'

const WINDOW_DEFAULT_MS = 600_000
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
  return { perMinute, per: rateLimit.per ?? 'payer', bucket: '' }
}

export function rulesOf({ rateLimit, idempotency, requireReadable, confirm, budgets }: ServerOptions): Rules {
  return {
    uncountedAdmitted: rateLimit?.onStoreDown === 'admit',
    idempotency: idempotency && {
      windowMs: positive('idempotency.windowMs', idempotency.windowMs ?? WINDOW_DEFAULT_MS),
      onLostResponse: idempotency.onLostResponse ?? 'release',
      answerBytesMax: positive(
        'idempotency.maxAnswerBytes',
        idempotency.maxAnswerBytes ?? ANSWER_BYTES_DEFAULT_MAX,
      ),
    },
    requireReadable: requireReadable ?? false,
    confirmOnChain: confirm === 'chain',
    budgets: { ...DEFAULT_BUDGETS, ...budgets },
  }
}
