/** What the scripts of windows do at the very moments that they compare, and after their deadline. */
import { expect } from 'vitest'
import { redisSubscriptions } from '../../src/adapters/redis/subscriptions.js'
import type { TestRunner } from '../../src/testing.js'
import { standingStill, type VirtualRedis } from '../support/redis-virtual.js'

const LEASE_MS = 60_000
const WINDOW_MS = 3_600_000

export function redisWindows({ describe, it }: TestRunner, redis: () => VirtualRedis): void {
  const move = { endpoint: 'e', token: 'one', leaseMs: LEASE_MS }

  describe('windows in Redis', () => {
    const sold = async (callsLeft = 1) => {
      const world = await redis().world()
      const store = redisSubscriptions(world.connection, world.prefix, world.time)
      const expiresAtMs = (await world.time.now()) + WINDOW_MS
      await store.putIfAbsent('w', { endpoint: 'e', expiresAtMs, callsLeft })
      const take = (token: string, leaseMs = LEASE_MS) => store.take('w', { ...move, token, leaseMs })
      const left = async () => (await store.get('w'))?.callsLeft
      return { world, store, expiresAtMs, take, left }
    }

    it('have a call again at the moment at which its lease ends', async () => {
      const { world, take } = await sold()
      await take('one')
      await world.advance(LEASE_MS - 1)
      expect(await take('two')).toEqual({ verdict: 'usedUp' })
      await world.advance(1)
      expect(await take('two')).toEqual({ verdict: 'taken', callsLeft: 0 })
    })

    it('have the only call again each time that its process dies', async () => {
      const { world, take, left } = await sold()
      for (const token of ['one', 'two']) {
        await take(token)
        await world.advance(LEASE_MS)
        expect(await left()).toBe(1)
      }
    })

    it('have each call again at the end of its own lease, and end no sooner for that', async () => {
      const { world, store, expiresAtMs, take, left } = await sold(3)
      await take('short')
      await take('long', 3 * LEASE_MS)
      await take('alive', 20 * LEASE_MS)
      await world.advance(2 * LEASE_MS)
      expect(await left()).toBe(1)
      await world.advance(2 * LEASE_MS)
      expect(await store.get('w')).toEqual({ endpoint: 'e', expiresAtMs, callsLeft: 2 })
    })

    it('count what is delivered after its lease, and take it from no call at work', async () => {
      const { world, store, take, left } = await sold(4)
      await take('suspended')
      await take('alive', 20 * LEASE_MS)
      await world.advance(2 * LEASE_MS)
      expect(await left()).toBe(3)
      await store.use('w', 'suspended')
      expect(await left()).toBe(2)
      expect(await store.giveBack('w', 'alive')).toBe(3)
    })

    it('are over at the moment of their end, though Redis deletes one later', async () => {
      const { world, take } = await sold()
      await redis().client.persist(`${world.prefix}window:w`)
      await world.advance(WINDOW_MS - 1)
      expect(await take('one')).toEqual({ verdict: 'taken', callsLeft: 0 })
      await world.advance(1)
      expect(await take('one')).toEqual({ verdict: 'none' })
    })

    it('give a call up to the deadline of its move, and none after it: the caller is told', async () => {
      const { world, left } = await sold()
      const still = { ms: world.connection.commandTimeoutMs + 1 }
      let forgotten = 0
      const time = { ...world.time, forget: () => void forgotten++ }
      const slow = redisSubscriptions(standingStill(world, still), world.prefix, time)
      await expect(slow.take('w', move)).rejects.toThrow('after its deadline')
      expect(await left()).toBe(1)
      expect(forgotten).toBe(1)
      still.ms--
      expect(await slow.take('w', move)).toEqual({ verdict: 'taken', callsLeft: 0 })
      expect(forgotten).toBe(1)
    })
  })
}
