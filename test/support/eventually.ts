import { vi } from 'vitest'

/** Until what it asserts holds. For one value there is `expect.poll`. `vi.waitFor` alone gives up after a second. */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { interval: 10, timeout: 30_000 })
}
