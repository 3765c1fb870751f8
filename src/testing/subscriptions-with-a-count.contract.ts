/** The promises of `src/ports/subscriptions.ts` about windows that have a count of calls. */
import { randomUUID } from 'node:crypto'
import {
  COUNTING_MOVES,
  type CountingSubscriptionStore,
  type SubscriptionStore,
  type Taken,
} from '../ports/subscriptions.js'
import type { Contract, MakeSubscriptions, SubscriptionsHarness } from './runner.js'

const ENDPOINT = 'reports/daily'
const taken = (callsLeft: number): Taken => ({ verdict: 'taken', callsLeft })
const USED_UP: Taken = { verdict: 'usedUp' }
const NONE: Taken = { verdict: 'none' }
/** How many calls race for the last ones of a window. */
const RACERS = 20

function counts(store: SubscriptionStore): store is CountingSubscriptionStore {
  return COUNTING_MOVES.every(move => store[move] !== undefined)
}

/** A window of so many calls, in a store that counts; `undefined` where the store does not. */
async function soldIn({ store, now, windowMs }: SubscriptionsHarness, callsLeft: number | undefined) {
  if (!counts(store)) return undefined
  const id = randomUUID()
  const expiresAtMs = now() + 20 * windowMs
  const record = { endpoint: ENDPOINT, expiresAtMs, ...(callsLeft !== undefined && { callsLeft }) }
  await store.putIfAbsent(id, record)
  return {
    id,
    record,
    take: async (token: string, leaseMs = 20 * windowMs, endpoint = ENDPOINT) =>
      store.take(id, { endpoint, token, leaseMs }),
    use: async (token: string) => store.use(id, token),
    giveBack: async (token: string) => store.giveBack(id, token),
    left: async () => (await store.get(id))?.callsLeft,
    store,
  }
}

export const countedWindows: Contract<MakeSubscriptions> = ({ describe, expect, it }, name, make) => {
  const during = (title: string, calls: number | undefined, test: Test) =>
    it(title, async () => {
      const harness = await make()
      const window = await soldIn(harness, calls)
      if (window !== undefined) await test(window, harness)
    })

  /** In a store that outlives the processes of its calls. */
  const leased = (title: string, calls: number, test: Test) =>
    during(title, calls, async (window, harness) => {
      if (!harness.inProcess) await test(window, harness)
    })

  describe(`windows with a count of calls: ${name}`, () => {
    during('one is found with its count, as it was sold', 7, async ({ store, id, record }) => {
      expect(await store.get(id)).toEqual(record)
    })

    during('calls are taken until none is left', 2, async ({ take, left }) => {
      expect(await take('one')).toEqual(taken(1))
      expect(await take('two')).toEqual(taken(0))
      expect(await take('three')).toEqual(USED_UP)
      expect(await left()).toBe(0)
    })

    during('one without calls is used up from the start, and is not unknown', 0, async ({ take, left }) => {
      expect(await take('one')).toEqual(USED_UP)
      expect(await left()).toBe(0)
    })

    during('a token that has taken a call is answered the same again', 2, async ({ take, left }) => {
      expect(await take('one')).toEqual(taken(1))
      expect(await take('one')).toEqual(taken(1))
      expect(await left()).toBe(1)
      await take('two')
      expect(await take('two')).toEqual(taken(0))
    })

    during('of many calls at once, only as many are covered as are left', 3, async ({ take, left }) => {
      const racing = Array.from({ length: RACERS }, (_, at) => take(`racer ${at}`))
      const verdicts = (await Promise.all(racing)).map(({ verdict }) => verdict)
      expect(verdicts.filter(verdict => verdict === 'taken')).toHaveLength(3)
      expect(verdicts.filter(verdict => verdict === 'usedUp')).toHaveLength(RACERS - 3)
      expect(await left()).toBe(0)
    })

    during('a call that was given back can be taken again, once', 1, async ({ take, giveBack, left }) => {
      await take('one')
      expect(await giveBack('one')).toBe(1)
      expect(await giveBack('one')).toBe(1)
      expect(await left()).toBe(1)
      expect(await take('two')).toEqual(taken(0))
      expect(await giveBack('one')).toBe(0)
      expect(await take('three')).toEqual(USED_UP)
    })

    during('a used call is counted once, however often that is said', 3, async ({ take, use, left }) => {
      await take('one')
      await use('one')
      await use('one')
      expect(await left()).toBe(2)
    })

    during('a used call cannot be given back', 2, async ({ take, use, giveBack }) => {
      await take('one')
      await use('one')
      expect(await giveBack('one')).toBe(1)
      expect(await take('two')).toEqual(taken(0))
    })

    during('a token that took nothing neither uses nor gives back', 2, async ({ take, use, giveBack }) => {
      await use('stranger')
      expect(await giveBack('stranger')).toBe(2)
      expect(await take('one')).toEqual(taken(1))
      await use('stranger')
      expect(await giveBack('stranger')).toBe(1)
    })

    leased('a call whose process died is left again when its lease ends', 2, async (window, harness) => {
      const { take, left } = window
      await take('dead', harness.windowMs)
      await take('alive')
      expect(await take('early')).toEqual(USED_UP)
      await harness.advance(2 * harness.windowMs)
      expect(await left()).toBe(1)
      expect(await take('next')).toEqual(taken(0))
      expect(await take('late')).toEqual(USED_UP)
    })

    during(
      'in one process a call is reserved until it ends, whatever time it takes',
      2,
      async (window, harness) => {
        const { take, use, giveBack, left } = window
        if (!harness.inProcess) return
        await take('one', harness.windowMs)
        await take('two', harness.windowMs)
        await harness.advance(2 * harness.windowMs)
        expect(await take('three')).toEqual(USED_UP)
        expect(await take('one')).toEqual(taken(0))
        await use('one')
        expect(await giveBack('two')).toBe(1)
        expect(await take('three')).toEqual(taken(0))
        await harness.advance(2 * harness.windowMs)
        expect(await left()).toBe(0)
      },
    )

    during('a used call stays used when its lease would have ended', 1, async (window, harness) => {
      await window.take('one', harness.windowMs)
      await window.use('one')
      await harness.advance(2 * harness.windowMs)
      expect(await window.take('two')).toEqual(USED_UP)
    })

    leased(
      'what is delivered after the lease is counted, and never below nothing',
      2,
      async (window, harness) => {
        const { take, use, left } = window
        await take('suspended', harness.windowMs)
        await take('other')
        await harness.advance(2 * harness.windowMs)
        expect(await take('next')).toEqual(taken(0))
        await use('suspended')
        await use('suspended')
        expect(await left()).toBe(0)
        await use('next')
        await use('other')
        expect(await left()).toBe(0)
        expect(await take('more')).toEqual(USED_UP)
      },
    )

    leased('a call that is given back after its lease is left once', 1, async (window, harness) => {
      await window.take('one', harness.windowMs)
      await harness.advance(2 * harness.windowMs)
      expect(await window.giveBack('one')).toBe(1)
      await window.use('one')
      expect(await window.left()).toBe(1)
    })

    during('another endpoint finds no window, and takes nothing from it', 1, async ({ take, left }) => {
      expect(await take('one', 60_000, 'reports/weekly')).toEqual(NONE)
      expect(await left()).toBe(1)
    })

    during('a window that only time ends covers every call of its endpoint', undefined, async window => {
      expect(await window.take('one')).toEqual({ verdict: 'taken' })
      expect(await window.take('one', 60_000, 'reports/weekly')).toEqual(NONE)
      expect(await window.store.get(window.id)).toEqual(window.record)
      await window.use('one')
      expect(await window.giveBack('one')).toBeFalsy()
    })

    during('an id that nobody bought has no calls, and can be told of none', 1, async ({ store }) => {
      const id = randomUUID()
      expect(await store.take(id, { endpoint: ENDPOINT, token: 'one', leaseMs: 60_000 })).toEqual(NONE)
      await store.use(id, 'one')
      expect(await store.giveBack(id, 'one')).toBeFalsy()
      expect(await store.get(id)).toBeFalsy()
    })

    during('one that ended by time has no calls any more', 5, async ({ store, record }, harness) => {
      const id = randomUUID()
      await store.putIfAbsent(id, { ...record, expiresAtMs: harness.now() + harness.windowMs })
      const move = { endpoint: ENDPOINT, leaseMs: 60_000 }
      expect(await store.take(id, { ...move, token: 'one' })).toEqual(taken(4))
      await harness.advance(2 * harness.windowMs)
      expect(await store.take(id, { ...move, token: 'two' })).toEqual(NONE)
      await store.use(id, 'one')
      expect(await store.giveBack(id, 'one')).toBeFalsy()
    })

    during('a window that was taken back has no calls', 2, async ({ store, id, take }) => {
      if (!store.delete) return
      await take('one')
      await store.delete(id)
      expect(await take('two')).toEqual(NONE)
    })

    during(
      'one that is stored again gives back no call',
      4,
      async ({ store, id, record, take, use, left }) => {
        await take('one')
        await use('one')
        await take('two')
        await store.putIfAbsent(id, record)
        expect(await left()).toBe(2)
        const { callsLeft: _, ...uncounted } = record
        await store.putIfAbsent(id, uncounted)
        expect(await take('three')).toEqual(taken(1))
      },
    )
  })
}

type Test = (
  window: NonNullable<Awaited<ReturnType<typeof soldIn>>>,
  harness: SubscriptionsHarness,
) => Promise<void>
