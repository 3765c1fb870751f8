/** Quoted calls that wait as tasks: what is counted for them, and how long they are kept. */
import { describe, expect, it } from 'vitest'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memoryTasks } from '../../src/adapters/memory/task-store.js'
import type { Rate } from '../../src/app/charge/charge-deps.js'
import { admit, countVerified } from '../../src/app/charge/effects/admit.js'
import { tasksOver } from '../../src/app/tasks/tasks-over-store.js'
import { NO_ADDRESS } from '../../src/ports/charge.js'
import { type Counters, perMinute } from '../../src/ports/counters.js'
import type { PaymentReader } from '../../src/ports/payment-reader.js'
import { ADDRESS, DOWN, type Given, oneCall } from '../support/one-call.js'

const QUOTED = { endpoint: 'work', contextId: 'c', input: { text: 'hello' } }
const ELSEWHERE = '198.51.100.1'

/** Tasks of one server, and the payments that come for them. Each payment has its name as its transaction and its payer. */
function server(rate: Partial<Rate> = {}, given: Given = {}) {
  const endpoint = { rate: { terms: perMinute(1), per: 'payer', bucket: '', ...rate } } as const
  const reader = {
    read: ({ payload }: { payload?: unknown }) => payload && { txId: payload, payer: payload },
  } as PaymentReader
  const { world, timeline } = oneCall({ ...given, endpoint, reader })
  const tasks = tasksOver(world, {
    store: memoryTasks({ clock: world.clock }),
    terms: { max: 100, maxInputBytes: 100 },
    quoteLifeMs: 60_000,
  })
  const payment = (name: string) => ({ payload: name }) as never
  const begin = async (address = ADDRESS) => {
    const kept = await tasks.keep(QUOTED, address)
    return kept.verdict === 'kept' ? kept.id : kept.verdict
  }
  const take = (id: string, name: string) => tasks.take(id, payment(name))
  /** What the charge answers before it asks the facilitator, and after it. */
  async function pay(id: string, name: string, address = ADDRESS) {
    await take(id, name)
    const request = {
      task: id,
      payment: { kind: 'read', value: payment(name) },
      clientAddress: address,
    } as const
    const { call } = oneCall({ world, endpoint, request, reader })
    const admitted = await admit(world, call)
    return admitted === 'admitted' ? countVerified(world, call, endpoint.rate) : admitted
  }
  return { world, timeline, tasks, begin, take, pay }
}

describe('a rate limit of payers', () => {
  it('counts a task until its payment comes, and then the payment', async () => {
    const { begin, pay } = server()
    const id = await begin()
    expect(await begin()).toBe('limited')
    expect(await pay(id, 'PAYER')).toBe('verified')
    // The address is free again, and the payer is over the limit.
    const next = await begin()
    expect(next).not.toBe('limited')
    expect(await pay(next, 'PAYER')).toBe('limited')
  })

  it('has a task’s count back before the payment is counted, however long that takes', async () => {
    const limit = memoryCounters()
    const rateLimit: Counters = {
      ...limit,
      async giveBack(...counted) {
        await new Promise(setImmediate)
        await limit.giveBack(...counted)
      },
    }
    const { begin, pay } = server({}, { world: { rateLimit } })
    expect(await pay(await begin(), 'PAYER')).toBe('verified')
  })

  it('lets all payers behind one address pay for the tasks that it let them begin', async () => {
    const { begin, pay } = server({ terms: perMinute(3) })
    const tasks = [await begin(), await begin(), await begin()]
    for (const [at, id] of tasks.entries()) expect(await pay(id, `PAYER ${at}`)).toBe('verified')
  })

  it('gives a task’s count back to the address that began it, and once', async () => {
    const { begin, take, world } = server({ terms: perMinute(2) })
    const left = async (address: string) => {
      let count = 0
      while ((await world.rateLimit.take(`address:${address}`, perMinute(2))).admitted) count++
      for (let at = 0; at < count; at++) await world.rateLimit.giveBack(`address:${address}`, 1, perMinute(2))
      return count
    }
    const [id, _] = [
      await begin(),
      await begin(),
      await world.rateLimit.take(`address:${ELSEWHERE}`, perMinute(2)),
    ]
    for (let again = 0; again < 3; again++) await take(id, 'PAYER')
    expect([await left(ADDRESS), await left(ELSEWHERE)]).toEqual([1, 1])
  })

  it('that cannot be asked keeps nobody from paying', async () => {
    const { take, begin } = server({}, { rules: { uncountedAdmitted: true }, world: { rateLimit: DOWN } })
    expect(await take(await begin(), 'PAYER')).toMatchObject({ verdict: 'taken' })
  })
})

describe('a rate limit of addresses', () => {
  it('counts no tasks, because it counts their requests', async () => {
    const { begin, take } = server({ per: 'ip' }, { world: { rateLimit: DOWN } })
    expect(await take(await begin(), 'PAYER')).toMatchObject({ verdict: 'taken' })
    const back: unknown[] = []
    const rateLimit = { ...memoryCounters(), giveBack: (...counted: unknown[]) => void back.push(counted) }
    const counting = server({ per: 'ip' }, { world: { rateLimit } })
    await counting.take(await counting.begin(), 'PAYER')
    expect(back).toEqual([])
  })
})

it('a rate limit that cannot be asked lets nobody begin a task, unless the seller wants it', async () => {
  const { begin } = server({}, { world: { rateLimit: DOWN } })
  await expect(begin()).rejects.toThrow('down')
})

describe('the room for tasks', () => {
  it.each([
    ['is a quarter for one address', () => ADDRESS, 25],
    ['is a quarter for one /64', (at: number) => `2001:db8::${at}`, 25],
    ['is one for all callers whose address nobody knows', () => NO_ADDRESS, 100],
  ])('%s', async (_, address, count) => {
    const { begin } = server({ terms: perMinute(1_000) })
    const begun = await Promise.all(Array.from({ length: 101 }, (_, at) => begin(address(at))))
    expect(begun.filter(id => id !== 'full')).toHaveLength(count)
  })
})
