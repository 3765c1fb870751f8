/** What stops a script of the charge store on Redis: an event that is not drawn, and the move's deadline. */
import { expect } from 'vitest'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { PRELUDE } from '../../src/adapters/redis/lua/prelude.js'
import { type Scene, scene } from '../../src/testing/charge-store/fixture.js'
import type { TestRunner } from '../../src/testing.js'
import { fieldsOf } from '../support/redis-fields.js'
import { standingStill, type VirtualRedis, type World } from '../support/redis-virtual.js'

export function redisDeadlines({ describe, it }: TestRunner, redis: () => VirtualRedis): void {
  describe('a script in Redis', () => {
    it('stops at an event that the drawing does not list, and has written nothing', async () => {
      const { prefix, connection, keys } = await redis().world()
      const undrawn = connection.script(
        'undrawn',
        `${PRELUDE}
        local claim = new(CLAIM, key.c)
        move(claim, 'completed')
        keep(claim)`,
      )
      await expect(undrawn([`${prefix}claim`], ['c', 'token'])).rejects.toThrow(
        'state absent does not list the event completed',
      )
      expect(await keys()).toEqual([])
    })
  })

  describe('a deadline in Redis', () => {
    const moves = {
      open: (s: Scene) => s.open(s.call('late', { key: 'other', payment: 'q' })),
      record: (s: Scene) => s.record(s.call('a', { key: 'at work', payment: 'r' })),
      resolve: (s: Scene) => s.resolve(s.call('successor'), 'found'),
    }
    /** An orphan that a successor took over, and a call at work. */
    const begun = async (s: Scene) => {
      await s.orphan()
      await s.open(s.call('successor'))
      await s.open(s.call('a', { key: 'at work', payment: 'r' }))
    }
    const everything = async ({ prefix, keys }: World) => {
      const { client } = redis()
      return Promise.all((await keys()).map(async key => [key, await fieldsOf(client, prefix + key)]))
    }

    for (const [name, move] of Object.entries(moves)) {
      it(`lets ${name} happen up to its moment`, async () => {
        const world = await redis().world()
        let [behindMs, forgotten] = [0, 0]
        const now = async () => (await world.time.now()) - behindMs
        const time = { now, forget: () => void forgotten++ }
        const store = redisChargeStore(world.connection, world.prefix, time)
        const s = await scene(() => ({ store, advance: world.advance, leaseMs: 1_000 }))
        await begun(s)
        behindMs = world.connection.commandTimeoutMs
        const before = await everything(world)
        await move(s)
        expect(await everything(world)).not.toEqual(before)
        expect(forgotten).toBe(0)
      })

      it(`forbids ${name} to happen after it, and the caller is told`, async () => {
        const world = await redis().world()
        const still = { ms: 0 }
        const store = redisChargeStore(standingStill(world, still), world.prefix, world.time)
        const s = await scene(() => ({ store, advance: world.advance, leaseMs: 100_000 }))
        await begun(s)
        const before = await everything(world)
        still.ms = world.connection.commandTimeoutMs + 1
        await expect(move(s)).rejects.toThrow('after its deadline')
        expect(await everything(world)).toEqual(before)
      })
    }

    it('is given again where the server’s clock is another than the one that was known', async () => {
      const world = await redis().world()
      let forgotten = 0
      const time = { now: () => 0, forget: () => void forgotten++ }
      const store = redisChargeStore(world.connection, world.prefix, time)
      const s = await scene(() => ({ store, advance: world.advance, leaseMs: 1_000 }))
      expect(await s.open(s.call('a'))).toEqual({ verdict: 'opened' })
      expect(forgotten).toBe(1)
    })
  })
}
