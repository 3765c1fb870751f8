/**
 * Calls `next` with the value: at once where it is there, later where it is a promise. A quote, whose steps all have their
 * values, is done in one turn of the event loop.
 */
export function mapSyncOrAsync<T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<Awaited<R>> {
  return value instanceof Promise ? (value.then(next) as Promise<Awaited<R>>) : next(value)
}
