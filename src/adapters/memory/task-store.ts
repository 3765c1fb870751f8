/** One process. Tasks in a map; each move is one synchronous step and therefore atomic. Nothing survives a restart. */
import { type Clock, systemClock } from '../../ports/clock.js'
import type { TaskStore } from '../../ports/tasks.js'
import { copyOf } from './charge-records.js'
import { Expiry } from './expiry-by-second.js'

export interface MemoryTasksOptions {
  readonly clock?: Pick<Clock, 'monotonic'>
  /** The most completed tasks. The oldest makes room: its answer can then no longer be asked for again. @default 500 */
  readonly completedMax?: number
}

interface Task {
  readonly name: string
  readonly content: Uint8Array
  readonly owner: string
  expiresAtMs: number
  payment?: string
  token?: string
  isCompleted: boolean
}

export function memoryTasks(options: MemoryTasksOptions = {}): TaskStore {
  const { clock = systemClock, completedMax = 500 } = options
  const tasks = new Map<string, Task>()
  const expiry = new Expiry<Task>()
  const completed = new Set<Task>()
  const countOf = new Map<string, number>()
  let count = 0

  function uncount({ owner }: Task): void {
    const left = countOf.get(owner)! - 1
    if (left > 0) countOf.set(owner, left)
    else countOf.delete(owner)
    count--
  }
  function forget(task: Task): void {
    tasks.delete(task.name)
    expiry.drop(task)
    if (!completed.delete(task)) uncount(task)
  }
  function keepFor(task: Task, lifeMs: number): void {
    expiry.drop(task)
    task.expiresAtMs = clock.monotonic() + lifeMs
    expiry.file(task)
  }
  function find(name: string): Task | undefined {
    const task = tasks.get(name)
    if (task === undefined || clock.monotonic() < task.expiresAtMs) return task
    forget(task)
    return undefined
  }

  return {
    async put({ name, content, owner, lifeMs, ownerMax, max }) {
      const nowMs = clock.monotonic()
      expiry.collect(nowMs, forget)
      if (find(name)) return 'kept'
      const isFull = () => count >= max || (countOf.get(owner) ?? 0) >= ownerMax
      // `collect` may be a second late.
      if (isFull()) for (const old of [...tasks.keys()]) find(old)
      if (isFull()) return 'full'
      const task = { name, content: copyOf(content), owner, expiresAtMs: nowMs + lifeMs, isCompleted: false }
      tasks.set(name, task)
      expiry.file(task)
      countOf.set(owner, (countOf.get(owner) ?? 0) + 1)
      count++
      return 'kept'
    },
    async get(name) {
      const task = find(name)
      return task && { content: copyOf(task.content), ...(task.payment && { payment: task.payment }) }
    },
    async take({ name, payment, token, lifeMs }) {
      const task = find(name)
      if (task === undefined) return undefined
      const isFirst = task.payment === undefined
      task.payment ??= payment
      if (task.payment === payment) {
        task.token = token
        const leftMs = task.expiresAtMs - clock.monotonic()
        if (!task.isCompleted && leftMs < lifeMs) keepFor(task, lifeMs)
      }
      return { content: copyOf(task.content), payment: task.payment, isFirst }
    },
    async end({ name, how, payment, token, lifeMs }) {
      const task = find(name)
      if (task === undefined) return 'unknown'
      if (task.payment !== payment) return 'kept'
      if (how === 'completed') {
        if (task.isCompleted) return 'ended'
        task.isCompleted = true
        uncount(task)
        completed.add(task)
        keepFor(task, lifeMs)
        if (completed.size > completedMax) forget(completed.values().next().value!)
        return 'ended'
      }
      if (task.isCompleted || task.token !== token) return 'kept'
      forget(task)
      return 'ended'
    },
  }
}
