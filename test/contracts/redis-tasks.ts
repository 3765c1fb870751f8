/** What the scripts of tasks leave in Redis, and what they do after their deadline. */
import { expect } from 'vitest'
import { redisTasks } from '../../src/adapters/redis/task-store.js'
import type { TaskStore } from '../../src/ports/tasks.js'
import type { TestRunner } from '../../src/testing.js'
import type { VirtualRedis, World } from '../support/redis-virtual.js'

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

    const moves = {
      put: (store: TaskStore) => store.put({ ...NEW, name: 'new' }),
      take: (store: TaskStore) => store.take({ ...BY, name: 'waiting' }),
    }
    for (const [name, move] of Object.entries(moves)) {
      it(`forbids ${name} to happen after its deadline, and the caller is told`, async () => {
        const world = await redis().world()
        const { connection } = world
        let standsStillMs = 0
        // The server stands still between the caller's look at the clock and the script.
        const slow: World['connection'] = {
          ...connection,
          script: (of, lua) => {
            const run = connection.script(of, lua)
            return async (keys, args) => {
              await world.advance(standsStillMs)
              return run(keys, args)
            }
          },
        }
        const store = redisTasks(slow, world.prefix, world.time)
        await store.put({ ...NEW, name: 'waiting' })
        const before = await world.keys()
        standsStillMs = connection.commandTimeoutMs + 1
        await expect(move(store)).rejects.toThrow('after its deadline')
        expect(await world.keys()).toEqual(before)
        expect(await store.get('waiting')).not.toHaveProperty('payment')
      })
    }
  })
}
