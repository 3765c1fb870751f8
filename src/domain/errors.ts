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
