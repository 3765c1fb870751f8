/**
 * `next` of a value that may have to be waited for, and at once where it need not be: each await that waits for nothing
 * costs a probe as much as a look-up in the table.
 */
export function onceKnown<T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<Awaited<R>> {
  return value instanceof Promise ? (value.then(next) as Promise<Awaited<R>>) : next(value)
}
