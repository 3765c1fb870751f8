import { SvcError } from '../../domain/errors.js'
import { isRecord } from '../../domain/x402.js'

/** The idempotency key of a failed call that may have been paid, where its seller keeps keys: sent again, it may get the answer. */
export function keyToRepeat(error: unknown): string | undefined {
  const { charged, idempotencyKey } = error instanceof SvcError && isRecord(error.detail) ? error.detail : {}
  const mayBePaid = charged === 'yes' || charged === 'maybe'
  return mayBePaid && typeof idempotencyKey === 'string' ? idempotencyKey : undefined
}
