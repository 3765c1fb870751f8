/**
 * The one error type that users of the SDK see.
 *
 * Its `code` is for programs: it stays where the words of `message` change.
 */
export class SvcError extends Error {
  /** Tells it from other errors, also across copies of this package. */
  override readonly name = 'SvcError'

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
    /** The HTTP status that belongs to it, where one does. */
    readonly status?: number,
    /** The evidence: a response body, the payment requirements, the offending value. */
    readonly detail?: unknown,
  ) {
    super(message)
  }

  /**
   * Whether a caller is told its message, code and status when a handler throws it. Errors of other libraries say the same
   * by a property of this name (http-errors does).
   */
  get expose(): boolean {
    return true
  }
}

/**
 * An `SvcError` of this package's own work, such as a purchase that failed. It is for whoever asked for that work: a
 * handler that buys elsewhere and lets it through has chosen no words for its own callers.
 */
export class SdkError extends SvcError {
  static {
    // To its readers it is the one type that they know.
    Object.defineProperty(SdkError, 'name', { value: 'SvcError' })
  }

  override get expose(): boolean {
    return false
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
