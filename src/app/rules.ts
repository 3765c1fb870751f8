/** The rules of the charge, from the options that a seller gave. */
import { DEFAULT_BUDGETS, type Rules } from './charge/world.js'
import { positive, type ServerOptions } from './options.js'

const WINDOW_DEFAULT_MS = 600_000
const ANSWER_BYTES_DEFAULT_MAX = 1_048_576

export function rulesOf({ rateLimit, idempotency, requireReadable, confirm, budgets }: ServerOptions): Rules {
  return {
    rateLimit: rateLimit && {
      perMinute: positive('rateLimit.perMinute', rateLimit.perMinute),
      per: rateLimit.per ?? 'payer',
      failOpen: rateLimit.onStoreDown === 'admit',
    },
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
