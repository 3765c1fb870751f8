/**
 * `next` of a value that may have to be waited for, and at once where it need not be: a quote, whose steps wait for
 * nothing, is done in one turn.
 */
export function thenMaybe<T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<Awaited<R>> {
  return value instanceof Promise ? (value.then(next) as Promise<Awaited<R>>) : next(value)
}
