/** Sellers whose calls are paid as tasks of A2A, and how often their handler ran. */
import { beforeEach } from 'vitest'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { openReplicas } from './replicas.js'
import { open } from './seller.js'

/** A task needs no key. */
export const KEYLESS = { idempotency: undefined } as const

/** Two ways to be one seller: one process, and two processes on one Redis. */
export function taskSellers(redis: { readonly url: string }) {
  const seen = { runs: 0 }
  beforeEach(() => {
    seen.runs = 0
  })
  const answer = defineEndpoint({
    name: 'answer',
    price: '$0.01',
    handler: ({ body }) => ({ run: ++seen.runs, body }),
  })
  const SELLERS = {
    'one process': async (options: Partial<ServeOptions> = {}) => {
      const seller = await open([answer], options)
      return [seller, seller] as const
    },
    'two replicas on Redis': async (options: Partial<ServeOptions> = {}) => {
      const [one, other] = await openReplicas(2, [answer], { redisUrl: redis.url, ...KEYLESS, ...options })
      return [one!, other!] as const
    },
  } as const
  return { answer, seen, SELLERS }
}
