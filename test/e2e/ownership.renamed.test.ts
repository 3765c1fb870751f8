/** An agent and an endpoint with new names: who bought under the old ones has what was bought, and is not charged again. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { EVERY_DOOR } from '../support/doors.js'
import { DOUBT, HOME, inDoubt, keyed, observed, ownershipWorld, randomKey } from '../support/ownership.js'
import { proving } from '../support/payer-proof.js'
import { begun, send } from '../support/payment-tasks.js'
import { signFor } from '../support/seller.js'

const PRICE = 10_000n
const INPUT = { text: 'mine' }

const world = ownershipWorld()
let runs = 0

interface Names {
  readonly handle: string
  readonly handles?: readonly string[]
  readonly endpoint: string
  readonly endpoints?: readonly string[]
}

const OLD: Names = { handle: 'weather', endpoint: 'ask' }
const RENAMED: Names = { handle: 'sky', handles: ['weather'], endpoint: 'tell', endpoints: ['ask'] }
const AGAIN: Names = {
  handle: 'air',
  handles: ['weather', 'sky'],
  endpoint: 'say',
  endpoints: ['ask', 'tell'],
}

async function versions(kind: string, calls?: number, limited: Pick<ServeOptions, 'rateLimit'> = {}) {
  runs = 0
  const { stores, renewed } = observed(world.STORES[kind]!())
  const open = ({ handle, handles, endpoint, endpoints }: Names) => {
    const named = (name: string) => ({
      name: `${endpoint}-${name}`,
      ...(endpoints && { formerly: endpoints.map(former => `${former}-${name}`) }),
      handler: () => ({ run: ++runs }),
    })
    return world.open(
      [
        defineEndpoint({ ...named('work'), price: '$0.01' }),
        defineEndpoint({
          ...named('window'),
          subscription: { price: '$0.01', period: '1h', ...(calls !== undefined && { calls }) },
        }),
      ],
      {
        stores,
        idempotency: {},
        ...limited,
        about: { handle, ...(handles && { formerly: handles }) },
        ...DOUBT,
      },
    )
  }
  const before = world.received()
  return {
    old: await open(OLD),
    later: [await open(RENAMED), await open(AGAIN)],
    stranger: await open({ ...RENAMED, handles: undefined as never }),
    renewed,
    charged: () => [runs, world.received() - before],
  }
}

const NEW_NAMES = ['tell', 'say']

const WAYS = ['memory', 'Redis'].flatMap(kind =>
  Object.entries(EVERY_DOOR).map(([name, door]) => [kind, name, door] as const),
)

describe.each(WAYS)('on %s, through %s', (kind, _, door) => {
  it.each([undefined, 3])('the key of a window opens it under each later name (calls: %s)', async calls => {
    const { old, later, stranger, charged } = await versions(kind, calls)
    const headers = await signFor(old, `${old.url}/ask-window`, { body: INPUT })
    const sale = await door(old.url, { skill: 'ask-window', input: INPUT, headers })
    const key = { 'x-svc-subscription': sale.subscriptionKey! }
    for (const [at, { url }] of later.entries()) {
      const told = await door(url, {
        skill: `${NEW_NAMES[at]}-window`,
        input: INPUT,
        headers: key,
      })
      expect(told).toMatchObject({ code: 'ok', data: { run: at + 2 } })
    }
    const refused = await door(stranger.url, { skill: 'tell-window', input: INPUT, headers: key })
    expect(refused.code).toBe('payment_required')
    expect(charged()).toEqual([3, PRICE])
  })

  it.each([
    ['by a proof', {}],
    ['under a key', keyed(randomKey())],
  ])('an answer that was paid for is had under each later name, %s', async (_, key) => {
    const { old, later, stranger, renewed, charged } = await versions(kind)
    const owner = world.payer()
    const payment = await signFor(old, `${old.url}/ask-work`, { account: owner.label, body: INPUT })
    const ask = (url: string, skill: string) =>
      door(url, {
        skill,
        input: INPUT,
        headers: { ...payment, ...key, ...HOME, ...proving(owner, url, payment) },
      })
    expect((await inDoubt(old, () => ask(old.url, 'ask-work'))).code).toBe('settlement_unknown')
    await renewed()
    world.sandbox.faults.clear()
    for (const [at, { url }] of later.entries()) {
      expect(await ask(url, `${NEW_NAMES[at]}-work`)).toMatchObject({ replayed: true, data: { run: 1 } })
    }
    expect((await ask(stranger.url, 'tell-work')).code).toBe('payment_spent')
    expect(charged()).toEqual([1, PRICE])
  })
})

describe.each(['memory', 'Redis'])('on %s', kind => {
  it('a task that was quoted under the old name is paid and worked on', async () => {
    const { old, later, charged } = await versions(kind)
    const message = { parts: [{ kind: 'data', data: INPUT }], metadata: { skillId: 'ask-work' } }
    const { paid } = await begun(old, message, world.payer().label)
    expect(await send(later[0]!.url, paid)).toMatchObject({ is: 'completed', data: { run: 1 } })
    expect(charged()).toEqual([1, PRICE])
  })

  it('a task that took the last place of its address under the old name leaves it to its payment', async () => {
    const { old, later, charged } = await versions(kind, undefined, { rateLimit: { perMinute: 1 } })
    const message = { parts: [{ kind: 'data', data: INPUT }], metadata: { skillId: 'ask-work' } }
    const { paid } = await begun(old, message, world.payer().label)
    expect(await send(later[1]!.url, paid)).toMatchObject({ is: 'completed', data: { run: 1 } })
    expect(charged()).toEqual([1, PRICE])
  })
})
