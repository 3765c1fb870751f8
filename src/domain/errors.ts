/** The error type that users of the SDK see. Its `code` is for programs: it stays the same when the text of `message` changes. */
export class SvcError extends Error {
  /** `SvcError`, also across copies of this package; `AbortError`, as `fetch` has it, where a signal of the caller's ended the work. */
  override readonly name: string = 'SvcError'

  /**
   * @param message For people.
   * @param code For programs.
   * @param status Of HTTP, where one belongs to it.
   * @param detail The evidence.
   */
  constructor(
    message: string,
    /** Stable, for programs. */
    readonly code: string,
    /** The HTTP status that belongs to the error, if any. */
    readonly status?: number,
    /** The evidence: a response body, the payment requirements, the offending value. */
    readonly detail?: unknown,
  ) {
    super(message)
  }

  /**
   * Whether a caller receives its message, code and status when a handler throws it. Errors of other libraries have a
   * property of the same name and meaning (http-errors has it).
   */
  get expose(): boolean {
    return true
  }
}

/**
 * An `SvcError` from this package's own work, such as a purchase that failed. It is for the code that asked for that
 * work. If a handler buys elsewhere and does not catch it, the handler has not chosen its text for callers.
 */
export class SdkError extends SvcError {
  /** Users of the SDK see one error type. */
  static override readonly name = 'SvcError'

  constructor(...given: ConstructorParameters<typeof SvcError>) {
    super(...given)
    if (this.code === 'aborted') Object.assign(this, { name: 'AbortError' })
  }

  override get expose(): boolean {
    return false
  }
}

const SHOWN_LENGTH_MAX = 60

export function shown(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : plain(value)
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
}

function plain(value: unknown): string {
  const isPlain = value === null || ['number', 'boolean', 'bigint', 'undefined'].includes(typeof value)
  return isPlain ? String(value) : `a value of type ${typeof value}`
}
