/**
 * The one error type that users of the SDK see.
 *
 * `code` is stable and made for programs, `message` for people. `status` is the HTTP status that belongs to it, where
 * one does; `detail` is the evidence: a response body, the payment requirements, the offending value.
 */
export class SvcError extends Error {
  override readonly name = 'SvcError'

  constructor(
    message: string,
    readonly code: string,
    readonly status?: number,
    readonly detail?: unknown,
  ) {
    super(message)
  }
}

const SHOWN_LENGTH_MAX = 60

/** A wrong value as a message shows it: whatever it is, and not much of it. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : plain(value)
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
}

function plain(value: unknown): string {
  const isPlain = value === null || ['number', 'boolean', 'bigint', 'undefined'].includes(typeof value)
  return isPlain ? String(value) : `a value of type ${typeof value}`
}
