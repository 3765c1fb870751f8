/**
 * Answers that were paid for and that their caller has not got: it cancelled the call, or the answer was lost. Who asks for the same
 * again gets the answer, or the key under which the seller may have kept it. A model repeats a cancelled call, and would pay again.
 */
import { SvcError } from '../../domain/errors.js'
import { isRecord } from '../../domain/x402.js'
import type { Clock } from '../../ports/clock.js'

/**
 * `name` says what is asked. `make` makes the call, with the key of an earlier one if that is known; it must not end because the
 * caller cancels after a payment was sent.
 */
export type OwedAnswers<T> = (
  name: string,
  signal: AbortSignal,
  make: (idempotencyKey: string | undefined) => Promise<T>,
) => Promise<T>

interface Owed<T> {
  readonly name: string
  readonly endMs: number
  readonly answer?: Promise<T>
  readonly idempotencyKey?: string
}

/** As long as sellers on `@svc/sdk` keep a key. */
const KEPT_MS = 600_000
/** An answer may have 16 MB. */
const KEPT_MAX = 32

export function owedAnswers<T>({ monotonic }: Pick<Clock, 'monotonic'>): OwedAnswers<T> {
  let owed: Owed<T>[] = []

  function keep(entry: Omit<Owed<T>, 'endMs'>, endMs = monotonic() + KEPT_MS): void {
    owed = [...owed.slice(-(KEPT_MAX - 1)), { ...entry, endMs }]
  }

  function take(name: string): Owed<T> | undefined {
    owed = owed.filter(({ endMs }) => endMs > monotonic())
    const found = owed.find(entry => entry.name === name)
    owed = owed.filter(entry => entry !== found)
    return found
  }

  return async (name, signal, make) => {
    const earlier = take(name)
    const answer = earlier?.answer ?? make(earlier?.idempotencyKey)
    const leave = () => keep({ name, answer })
    signal.addEventListener('abort', leave)
    try {
      return await answer
    } catch (error) {
      owed = owed.filter(entry => entry.answer !== answer)
      const idempotencyKey = earlier?.idempotencyKey ?? keyOf(error)
      // A refusal of the second payment says nothing about the first: the earlier call may still run.
      if (idempotencyKey !== undefined) keep({ name, idempotencyKey }, earlier?.endMs)
      throw error
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}

/** The key of a call that may have been paid, where its seller keeps keys. */
function keyOf(error: unknown): string | undefined {
  const { charged, idempotencyKey } = error instanceof SvcError && isRecord(error.detail) ? error.detail : {}
  const mayBePaid = charged === 'yes' || charged === 'maybe'
  return mayBePaid && typeof idempotencyKey === 'string' ? idempotencyKey : undefined
}
