/** The promises of `src/ports/subscriptions.ts`, for any implementation of it. */
import { randomUUID } from 'node:crypto'
import type { SubscriptionRecord, SubscriptionStore } from '../ports/subscriptions.js'
import type { Contract, MakeSubscriptions } from './runner.js'
import { countedWindows } from './subscriptions-with-a-count.contract.js'

/** Stores a window as the server does. */
async function stored(store: SubscriptionStore, id: string, record: SubscriptionRecord): Promise<void> {
  await (store.putIfAbsent ? store.putIfAbsent(id, record) : store.put!(id, record))
}

async function sold(make: MakeSubscriptions) {
  const made = await make()
  const id = randomUUID()
  const record = { endpoint: 'reports/daily', expiresAtMs: made.now() + made.windowMs }
  await stored(made.store, id, record)
  return { ...made, id, record }
}

/** Defines the tests that every {@link SubscriptionStore} has to pass. Those of counted windows pass a store without `take`. */
export const subscriptionsContract: Contract<MakeSubscriptions> = ({ describe, expect, it }, name, make) => {
  describe(`subscriptions: ${name}`, () => {
    it('a window is found by its id, exactly as it was sold', async () => {
      const { store, id, record } = await sold(make)
      expect(await store.get(id)).toEqual(record)
    })

    it('an id that nobody bought finds nothing', async () => {
      const { store } = await make()
      expect(await store.get(randomUUID())).toBeFalsy()
    })

    it('one that is stored again as it was sold stays as it is', async () => {
      const { store, id, record } = await sold(make)
      await stored(store, id, { ...record })
      expect(await store.get(id)).toEqual(record)
    })

    it('one that is stored if it is absent stays, whether a later record is longer or shorter', async () => {
      const { store, now, windowMs, advance } = await make()
      if (!store.putIfAbsent) return
      const [long, short] = [randomUUID(), randomUUID()]
      const until = (ms: number) => ({ endpoint: 'a', expiresAtMs: now() + ms })
      const first = until(10 * windowMs)
      await stored(store, long, first)
      await stored(store, long, until(windowMs))
      await stored(store, long, { ...first, callsLeft: 5 })
      await stored(store, short, until(windowMs))
      await stored(store, short, until(10 * windowMs))
      await advance(2 * windowMs)
      await store.sweep(now())
      expect(await store.get(long)).toEqual(first)
      expect(await store.get(short)).toBeFalsy()
    })

    it('sweeping leaves no window open that ended, and every other one as it was', async () => {
      const { store, now, windowMs, advance } = await make()
      const [ended, open] = [randomUUID(), randomUUID()]
      const kept = { endpoint: 'a', expiresAtMs: now() + 20 * windowMs }
      await stored(store, ended, { endpoint: 'a', expiresAtMs: now() + windowMs })
      await stored(store, open, kept)
      await advance(2 * windowMs)
      await store.sweep(now())
      expect(await store.get(ended)).toBeFalsy()
      expect(await store.get(open)).toEqual(kept)
    })

    it('a window that was taken back is gone, and taking it back again is harmless', async () => {
      const { store, id } = await sold(make)
      if (!store.delete) return
      await store.delete(id)
      await store.delete(id)
      expect(await store.get(id)).toBeFalsy()
    })

    it('its own time, where it has one, is the time by which windows end', async () => {
      const { store, now, windowMs, advance } = await make()
      if (!store.now) return
      expect(Math.abs((await store.now()) - now())).toBeLessThan(windowMs)
      const id = randomUUID()
      const endsMs = (await store.now()) + windowMs
      await stored(store, id, { endpoint: 'a', expiresAtMs: endsMs })
      expect(await store.get(id)).toBeTruthy()
      await advance(2 * windowMs)
      expect(await store.now()).toBeGreaterThan(endsMs - 1)
    })

    it('what a caller does to its record does not reach the store', async () => {
      const { store, id, record, now, windowMs } = await sold(make)
      record.expiresAtMs = now() + 1_000 * windowMs
      record.endpoint = 'b'
      expect((await store.get(id))?.endpoint).toBe('reports/daily')
      expect((await store.get(id))?.expiresAtMs).toBeLessThan(record.expiresAtMs)
    })
  })
  countedWindows({ describe, expect, it }, name, make)
}
