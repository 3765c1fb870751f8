/** The caller's own signal, which ends any wait; what became of a payment that was already sent is told by others. */
import { SdkError } from '../../domain/errors.js'
import type { Cancel, Clock } from '../../ports/clock.js'

/** Settles as the promise does, or rejects with `aborted` as soon as the signal fires. The work itself goes on unheard. */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  told: string,
): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(new SdkError(told, 'aborted'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** @throws SvcError `aborted` as soon as the signal fires. */
export async function pause(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal: AbortSignal | undefined,
  told: string,
): Promise<void> {
  let cancel: Cancel | undefined
  const waited = new Promise<void>(resolve => {
    cancel = clock.after(ms, resolve)
  })
  try {
    await unlessAborted(waited, signal, told)
  } finally {
    cancel?.()
  }
}

/** Fires when either does. */
export function eitherSignal(
  one: AbortSignal | undefined,
  other: AbortSignal | undefined,
): AbortSignal | undefined {
  return one && other ? AbortSignal.any([one, other]) : (one ?? other)
}
