/** The promises of `src/ports/tasks.ts`, for any implementation of it. */
import { randomUUID } from 'node:crypto'
import type { EndTask, NewTask, TaskStore } from '../ports/tasks.js'
import type { Contract } from './runner.js'

/** A {@link TaskStore} under test, and its time. */
export interface TasksHarness {
  /** An empty store. */
  readonly store: TaskStore
  /** The same store, as another process sees it. @default `store` */
  readonly other?: TaskStore
  /** Lets time pass for the store: it moves the store's clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** Milliseconds: long enough for a few moves, short enough to wait for its end. */
  readonly lifeMs: number
}

/** Makes the store of one test. Called once for each test. */
export type MakeTasks = () => TasksHarness | Promise<TasksHarness>

/** Defines the tests that every {@link TaskStore} has to pass. */
export const tasksContract: Contract<MakeTasks> = ({ describe, expect, it }, name, make) => {
  const scene = async () => {
    const { store, other = store, advance, lifeMs } = await make()
    const content = Uint8Array.from([0, 255, 10, 13])
    const put = (over: Partial<NewTask> = {}) =>
      store.put({ name: randomUUID(), content, owner: 'me', lifeMs, ownerMax: 100, max: 100, ...over })
    const kept = async (over: Partial<NewTask> = {}) => {
      const task = randomUUID()
      expect(await put({ name: task, ...over })).toBe('kept')
      return task
    }
    const takeOf = (task: string, payment: string, token: string = randomUUID(), by = store) =>
      by.take({ name: task, payment, token, lifeMs })
    /** The payment that has the task after this take. */
    const take = async (...move: Parameters<typeof takeOf>) => (await takeOf(...move))?.payment ?? 'unknown'
    const end = (task: string, how: EndTask['how'], payment?: string, token?: string) =>
      store.end({ name: task, how, payment, token, lifeMs })
    const contentOf = async (task: string) => {
      const found = await other.get(task)
      return found && [...found.content]
    }
    return { store, other, advance, lifeMs, content, put, kept, take, takeOf, end, contentOf }
  }

  describe(`tasks: ${name}`, () => {
    it('a task is found with its content, and asking changes nothing', async () => {
      const { other, kept, contentOf } = await scene()
      const content = Uint8Array.from({ length: 100_000 }, (_, at) => at % 256)
      const task = await kept({ content })
      expect(await contentOf(task)).toEqual([...content])
      expect((await other.get(task))?.payment).toBe(undefined)
      expect(await contentOf(task)).toEqual([...content])
      expect(await other.get(randomUUID())).toBe(undefined)
    })

    it('a task that was put twice is one task', async () => {
      const { put, kept, contentOf } = await scene()
      const task = await kept({ max: 1 })
      expect(await put({ name: task, max: 1, content: new Uint8Array(9) })).toBe('kept')
      expect(await contentOf(task)).toEqual([0, 255, 10, 13])
      expect(await put({ max: 1 })).toBe('full')
    })

    it('a content that its owner changes later stays as it was put', async () => {
      const { kept, content, contentOf } = await scene()
      const task = await kept()
      content[0] = 7
      expect(await contentOf(task)).toEqual([0, 255, 10, 13])
    })

    it('a task waits for its time and no longer, and is then unknown to every move', async () => {
      const { advance, lifeMs, kept, take, end, contentOf } = await scene()
      const task = await kept()
      await advance(lifeMs / 2)
      expect(await contentOf(task)).toEqual([0, 255, 10, 13])
      await advance(lifeMs / 2)
      expect(await contentOf(task)).toBe(undefined)
      expect(await take(task, 'P')).toBe('unknown')
      expect(await end(task, 'failed')).toBe('unknown')
      expect(await end(task, 'completed', 'P')).toBe('unknown')
    })

    it('the first payment takes a task, again and again, and no other does', async () => {
      const { other, kept, take, takeOf } = await scene()
      const task = await kept()
      const taken = await takeOf(task, 'P1')
      expect(taken && [taken.payment, taken.isFirst, ...taken.content]).toEqual(['P1', true, 0, 255, 10, 13])
      expect(await take(task, 'P2', 't', other)).toBe('P1')
      expect((await takeOf(task, 'P2', 't', other))?.isFirst).toBe(false)
      const again = await takeOf(task, 'P1', 't', other)
      expect(again && [again.payment, again.isFirst]).toEqual(['P1', false])
      expect((await other.get(task))?.payment).toBe('P1')
    })

    it('of 32 requests that come at once, those of one payment take the task, and one of them is the first', async () => {
      const { store, other, kept, takeOf } = await scene()
      const task = await kept()
      const racing = Array.from({ length: 32 }, (_, at) =>
        takeOf(task, `P${at % 16}`, `${at}`, at % 3 ? store : other),
      )
      const taken = await Promise.all(racing)
      expect(taken.filter((take, at) => take?.payment === `P${at % 16}`)).toHaveLength(2)
      expect(new Set(taken.map(take => take?.payment)).size).toBe(1)
      expect(taken.filter(take => take?.isFirst)).toHaveLength(1)
    })

    it('a task that was taken is kept from then on, and never for less time than before', async () => {
      const { store, advance, lifeMs, kept, take, contentOf } = await scene()
      const [renewed, long] = [await kept(), await kept({ lifeMs: lifeMs * 2 })]
      await advance(lifeMs / 2)
      await take(renewed, 'P')
      await store.take({ name: long, payment: 'P', token: 't', lifeMs: 1 })
      await advance((lifeMs * 3) / 4)
      expect(await contentOf(renewed)).toEqual([0, 255, 10, 13])
      expect(await contentOf(long)).toEqual([0, 255, 10, 13])
      await advance(lifeMs)
      expect(await contentOf(renewed)).toBe(undefined)
      expect(await contentOf(long)).toBe(undefined)
    })

    it('a task that failed is gone', async () => {
      const { kept, take, end, contentOf } = await scene()
      const task = await kept()
      await take(task, 'P', 't')
      expect(await end(task, 'failed', 'P', 't')).toBe('ended')
      expect(await contentOf(task)).toBe(undefined)
      expect(await end(task, 'failed', 'P', 't')).toBe('unknown')
      expect(await take(task, 'P', 't')).toBe('unknown')
    })

    it('a task fails only for the last request that took it', async () => {
      const { kept, take, end } = await scene()
      const task = await kept()
      await take(task, 'P', 'first')
      await take(task, 'P', 'second')
      expect(await end(task, 'failed', 'P', 'first')).toBe('kept')
      expect(await end(task, 'failed', 'other', 'second')).toBe('kept')
      expect(await take(task, 'P', 'second')).toBe('P')
      expect(await end(task, 'failed', 'P', 'second')).toBe('ended')
    })

    it('a task is declined while no payment has it, and not afterwards', async () => {
      const { kept, take, end } = await scene()
      const [declined, paid] = [await kept(), await kept()]
      expect(await end(declined, 'failed')).toBe('ended')
      expect(await take(declined, 'P')).toBe('unknown')
      await take(paid, 'P')
      expect(await end(paid, 'failed')).toBe('kept')
      expect(await take(paid, 'P')).toBe('P')
    })

    it('of a payment and a refusal to pay that come at once, one holds', async () => {
      const { other, kept, take, end } = await scene()
      for (let round = 0; round < 8; round++) {
        const task = await kept()
        const [taken, ended] = await Promise.all([take(task, 'P', 't', other), end(task, 'failed')])
        expect([taken, ended].join()).toBe(ended === 'ended' ? 'unknown,ended' : 'P,kept')
      }
    })

    it('a completed task stays for its payment, cannot fail, and is kept for its new time', async () => {
      const { advance, lifeMs, kept, take, end } = await scene()
      const task = await kept()
      await take(task, 'P', 't')
      await advance(lifeMs / 2)
      expect(await end(task, 'completed', 'P')).toBe('ended')
      expect(await end(task, 'completed', 'P')).toBe('ended')
      expect(await end(task, 'failed', 'P', 't')).toBe('kept')
      await advance((lifeMs * 3) / 4)
      expect(await end(task, 'completed', 'P')).toBe('ended')
      expect(await take(task, 'P', 'later')).toBe('P')
      expect(await take(task, 'other')).toBe('P')
      expect(await end(task, 'failed', 'P', 'later')).toBe('kept')
      await advance(lifeMs / 2)
      expect(await take(task, 'P')).toBe('unknown')
    })

    it('another payment completes nothing', async () => {
      const { kept, take, end } = await scene()
      const task = await kept()
      expect(await end(task, 'completed', 'P')).toBe('kept')
      await take(task, 'P', 't')
      expect(await end(task, 'completed', 'other')).toBe('kept')
      expect(await end(task, 'failed', 'P', 't')).toBe('ended')
    })

    it('tasks are refused above the bound of all, and none is dropped for another', async () => {
      const { put, kept, take, contentOf } = await scene()
      const tasks = [await kept({ max: 3, owner: 'a' }), await kept({ max: 3, owner: 'b' })]
      tasks.push(await kept({ max: 3, owner: 'c' }))
      expect(await put({ max: 3, owner: 'd' })).toBe('full')
      // Whoever presents a payment that proves worthless must not make room for more.
      await take(tasks[0]!, 'P')
      expect(await put({ max: 3, owner: 'd' })).toBe('full')
      for (const task of tasks) expect(await contentOf(task)).toEqual([0, 255, 10, 13])
    })

    it('an owner has no more than its share', async () => {
      const { put, kept } = await scene()
      await kept({ ownerMax: 2 })
      await kept({ ownerMax: 2 })
      expect(await put({ ownerMax: 2 })).toBe('full')
      await kept({ ownerMax: 2, owner: 'another' })
    })

    it('64 tasks that are put at once share what is left', async () => {
      const { store, other, content, lifeMs } = await scene()
      const bounds = { owner: 'me', ownerMax: 3, max: 100 }
      const racing = Array.from({ length: 64 }, (_, at) =>
        (at % 2 ? store : other).put({ name: randomUUID(), content, lifeMs, ...bounds }),
      )
      expect((await Promise.all(racing)).filter(put => put === 'kept')).toHaveLength(3)
    })

    it('a task that failed, was completed, or whose time is over makes room', async () => {
      const { advance, lifeMs, put, kept, take, end } = await scene()
      const one = { max: 1, ownerMax: 1 }
      const failed = await kept(one)
      await take(failed, 'P', 't')
      await end(failed, 'failed', 'P', 't')
      const completed = await kept(one)
      await take(completed, 'P', 't')
      await end(completed, 'completed', 'P')
      await end(completed, 'completed', 'P')
      await kept(one)
      expect(await put(one)).toBe('full')
      await advance(lifeMs)
      await kept(one)
      expect(await put(one)).toBe('full')
    })

    it('a task that was taken counts for as long as it is kept', async () => {
      const { advance, lifeMs, put, kept, take } = await scene()
      const task = await kept()
      await advance(lifeMs / 2)
      await take(task, 'P')
      await advance((lifeMs * 2) / 3)
      expect(await put({ max: 1 })).toBe('full')
      expect(await put({ ownerMax: 1 })).toBe('full')
      await advance(lifeMs / 2)
      await kept({ max: 1, ownerMax: 1 })
    })
  })
}
