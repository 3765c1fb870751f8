/** The promises of `src/ports/rate-limit.ts`, for any implementation of it. */
import { randomUUID } from 'node:crypto'
import type { RateLimit } from '../ports/rate-limit.js'
import type { TestRunner } from './runner.js'

/** A {@link RateLimit} under test, and its time. */
export interface RateLimitHarness {
  /** A limit that has counted nothing. */
  readonly limit: RateLimit
  /** Lets time pass for the limit: it moves the limit's clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** The length of this limit's minute. */
  readonly windowMs: number
}

/** Makes the limit of one test. Called once for each test. */
export type MakeRateLimit = () => RateLimitHarness | Promise<RateLimitHarness>

/**
 * Defines the tests that every {@link RateLimit} has to pass.
 *
 * @param runner Your test runner's functions.
 * @param name The limit's name in the titles of tests.
 * @param make Makes the limit of one test.
 */
export function rateLimitContract(
  { describe, expect, it }: TestRunner,
  name: string,
  make: MakeRateLimit,
): void {
  describe(`rate limit: ${name}`, () => {
    it('a limit of N admits N, and says when the next one may come', async () => {
      const { limit, windowMs } = await make()
      const key = randomUUID()
      for (let call = 0; call < 3; call++) expect(await limit.take(key, 3)).toEqual({ admitted: true })
      const refused = await limit.take(key, 3)
      expect(refused).toEqual({ admitted: false, retryAfterMs: expect.any(Number) })
      const { retryAfterMs } = refused as { retryAfterMs: number }
      expect(retryAfterMs).toBeGreaterThan(0)
      expect(retryAfterMs).toBeLessThanOrEqual(windowMs)
    })

    it('a caller that waits as long as it was told is admitted', async () => {
      const { limit, advance } = await make()
      const key = randomUUID()
      await limit.take(key, 1)
      const refused = await limit.take(key, 1)
      await advance((refused as { retryAfterMs: number }).retryAfterMs)
      expect(await limit.take(key, 1)).toEqual({ admitted: true })
    })

    it('refused calls do not put the next window off', async () => {
      const { limit, advance, windowMs } = await make()
      const key = randomUUID()
      await limit.take(key, 1)
      await advance(windowMs / 2)
      for (let call = 0; call < 5; call++) expect((await limit.take(key, 1)).admitted).toBe(false)
      await advance(windowMs / 2)
      expect(await limit.take(key, 1)).toEqual({ admitted: true })
    })

    it('one caller’s calls are not another’s', async () => {
      const { limit } = await make()
      const key = randomUUID()
      await limit.take(key, 1)
      expect((await limit.take(key, 1)).admitted).toBe(false)
      expect(await limit.take(randomUUID(), 1)).toEqual({ admitted: true })
    })

    it('looking counts nothing, and sees what taking would', async () => {
      const { limit } = await make()
      const key = randomUUID()
      for (let look = 0; look < 3; look++) expect(await limit.peek(key, 1)).toEqual({ admitted: true })
      await limit.take(key, 1)
      expect(await limit.peek(key, 1)).toEqual({ admitted: false, retryAfterMs: expect.any(Number) })
      expect(await limit.peek(key, 2)).toEqual({ admitted: true })
    })

    it('a call that is given back leaves room for another, and for no more than one', async () => {
      const { limit, advance, windowMs } = await make()
      const key = randomUUID()
      await limit.giveBack(key, 2)
      for (let call = 0; call < 2; call++) expect(await limit.take(key, 2)).toEqual({ admitted: true })
      await limit.giveBack(key, 2)
      expect(await limit.take(key, 2)).toEqual({ admitted: true })
      expect((await limit.take(key, 2)).admitted).toBe(false)
      await advance(windowMs)
      await limit.giveBack(key, 2)
      for (let call = 0; call < 2; call++) expect(await limit.take(key, 2)).toEqual({ admitted: true })
      expect((await limit.take(key, 2)).admitted).toBe(false)
    })

    it('giving back more than was taken leaves no more room, also at once', async () => {
      const { limit } = await make()
      const key = randomUUID()
      await limit.take(key, 2)
      await Promise.all(Array.from({ length: 3 }, async () => limit.giveBack(key, 2)))
      for (let call = 0; call < 2; call++) expect(await limit.take(key, 2)).toEqual({ admitted: true })
      expect((await limit.take(key, 2)).admitted).toBe(false)
    })

    it('64 racing calls under a limit of 10 admit 10', async () => {
      const { limit } = await make()
      const key = randomUUID()
      const verdicts = await Promise.all(Array.from({ length: 64 }, async () => limit.take(key, 10)))
      expect(verdicts.filter(verdict => verdict.admitted)).toHaveLength(10)
    })
  })
}
