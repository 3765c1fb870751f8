/** What the scripts of tasks leave in Redis, and what they do after their deadline. */
import { expect } from 'vitest'
import { redisTasks } from '../../src/adapters/redis/task-store.js'
import type { TaskStore } from '../../src/ports/tasks.js'
import type { TestRunner } from '../../src/testing.js'
import { standingStill, type VirtualRedis, type World } from '../support/redis-virtual.js'

const LIFE_MS = 300_000
const NEW = { content: new Uint8Array(9), owner: 'me', lifeMs: LIFE_MS, ownerMax: 9, max: 9 }
const BY = { payment: 'P', token: 't', lifeMs: LIFE_MS }

export function redisTaskRecords({ describe, it }: TestRunner, redis: () => VirtualRedis): void {
  const tasksOf = ({ connection, prefix, time }: World) => redisTasks(connection, prefix, time)

  describe('tasks in Redis', () => {
    it('leave nothing behind where they fail, and one key where they are completed', async () => {
      const world = await redis().world()
      const store = tasksOf(world)
      for (const name of ['failed', 'completed']) {
        await store.put({ ...NEW, name })
        await store.take({ ...BY, name })
      }
      expect(await world.keys()).toEqual([
        '{tasks}:open',
        '{tasks}:owners',
        '{tasks}:task:completed',
        '{tasks}:task:failed',
      ])
      await store.end({ ...BY, name: 'failed', how: 'failed' })
      await store.end({ ...BY, name: 'completed', how: 'completed' })
      expect(await world.keys()).toEqual(['{tasks}:task:completed'])
      await world.advance(LIFE_MS)
      expect(await world.keys()).toEqual([])
    })

    it('are forgotten whole when their time is over, though no other task comes', async () => {
      const world = await redis().world()
      const store = tasksOf(world)
      await store.put({ ...NEW, name: 'waiting' })
      await store.put({ ...NEW, name: 'taken' })
      await store.take({ ...BY, name: 'taken', lifeMs: 2 * LIFE_MS })
      await world.advance(2 * LIFE_MS)
      expect(await world.keys()).toEqual([])
    })

    it('that nobody takes are forgotten whole', async () => {
      const world = await redis().world()
      await tasksOf(world).put({ ...NEW, name: 'waiting' })
      await world.advance(LIFE_MS)
      expect(await world.keys()).toEqual([])
    })

    it('that Redis deletes late are counted no more, also where a payment takes one then', async () => {
      const world = await redis().world()
      const store = tasksOf(world)
      await store.put({ ...NEW, name: 'late', lifeMs: LIFE_MS / 2 })
      await store.put({ ...NEW, name: 'waiting' })
      await redis().client.persist(`${world.prefix}{tasks}:task:late`)
      await world.advance(LIFE_MS / 2)
      expect(await store.put({ ...NEW, name: 'another', max: 2, ownerMax: 2 })).toBe('kept')
      await redis().client.pexpire(`${world.prefix}{tasks}:task:late`, 1_000)
      await store.take({ ...BY, name: 'late' })
      expect(await redis().client.zcard(`${world.prefix}{tasks}:open`)).toBe(2)
    })

    it('of different times count for their own each, and each of an owner by itself', async () => {
      const world = await redis().world()
      const store = tasksOf(world)
      const put = (name: string, over: object = {}) => store.put({ ...NEW, name, ...over })
      await put('long', { lifeMs: 2 * LIFE_MS })
      await put('short')
      await world.advance(1.25 * LIFE_MS)
      expect(await put('above the bound of all', { max: 1 })).toBe('full')
      expect(await put('above the bound of its owner', { ownerMax: 1 })).toBe('full')
      expect(await put('in place of the short one', { max: 2, ownerMax: 2 })).toBe('kept')
      await store.end({ name: 'long', how: 'failed', lifeMs: LIFE_MS })
      expect(await put('in place of the long one', { ownerMax: 2 })).toBe('kept')
      expect(await put('above the bound', { ownerMax: 2 })).toBe('full')
    })

    const moves = {
      put: (store: TaskStore) => store.put({ ...NEW, name: 'new' }),
      take: (store: TaskStore) => store.take({ ...BY, name: 'waiting' }),
    }
    for (const [name, move] of Object.entries(moves)) {
      it(`lets ${name} happen up to its deadline, and not after it: the caller is told`, async () => {
        const world = await redis().world()
        const still = { ms: 0 }
        const store = redisTasks(standingStill(world, still), world.prefix, world.time)
        await store.put({ ...NEW, name: 'waiting' })
        const before = await world.keys()
        still.ms = world.connection.commandTimeoutMs + 1
        await expect(move(store)).rejects.toThrow('after its deadline')
        expect(await world.keys()).toEqual(before)
        expect(await store.get('waiting')).not.toHaveProperty('payment')
        still.ms--
        let forgotten = 0
        const time = { ...world.time, forget: () => void forgotten++ }
        await move(redisTasks(standingStill(world, still), world.prefix, time))
        expect(forgotten).toBe(0)
      })
    }
  })
}
