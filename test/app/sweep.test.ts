import { expect, it } from 'vitest'
import { sweeping } from '../../src/app/server/subscription-store-upkeep.js'
import type { Clock } from '../../src/ports/clock.js'
import { silentLogger } from '../../src/ports/logger.js'

it('windows are swept by the store’s time: a replica whose clock is ahead ends none of them early', async () => {
  const swept: number[] = []
  const timers: (() => void)[] = []
  const clock: Clock = {
    now: () => 3_600_000,
    monotonic: () => 0,
    after: (_, callback) => {
      timers.push(callback)
      return () => {}
    },
  }
  const store = {
    get: () => undefined,
    putIfAbsent: () => {},
    sweep: (nowMs: number) => void swept.push(nowMs),
  }
  sweeping({ ...store, now: () => 5 }, clock, silentLogger)
  sweeping(store, clock, silentLogger)
  for (const tick of timers.splice(0)) tick()
  await expect.poll(() => swept).toHaveLength(2)
  expect(swept.toSorted((one, other) => one - other)).toEqual([5, 3_600_000])
})
