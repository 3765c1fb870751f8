import { defineEndpoint } from '../../src/index.js'

/** A place in a handler or a store where calls are counted in, and wait until the test lets them go. */
export function gate() {
  let letGo = () => {}
  const opened = new Promise<void>(resolve => {
    letGo = resolve
  })
  let count = 0
  const waiting: { count: number; resolve(): void }[] = []
  return {
    opened,
    open: () => letGo(),
    enter() {
      count++
      for (const waiter of waiting) if (waiter.count <= count) waiter.resolve()
    },
    /** Resolves once so many calls have come in. */
    entered(calls = 1): Promise<void> {
      return new Promise(resolve => {
        waiting.push({ count: calls, resolve })
        if (calls <= count) resolve()
      })
    },
  }
}

/** An endpoint `slow` whose calls wait inside the handler until the test lets them go. */
export function gated(options: object = {}) {
  const door = gate()
  const endpoint = defineEndpoint({
    name: 'slow',
    price: '$0.01',
    async handler() {
      door.enter()
      await door.opened
      return { done: true }
    },
    ...options,
  })
  return { ...door, endpoint }
}
