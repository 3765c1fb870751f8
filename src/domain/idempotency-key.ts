/**
 * The header that makes a repeated request the same call.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */

/** The only spelling: a plain object with two spellings of a header would send both values, joined. */
export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key'

export const IDEMPOTENCY_KEY_LENGTH_MAX = 255

/** Visible ASCII characters. */
const PATTERN = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`)

export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && PATTERN.test(value)
}
