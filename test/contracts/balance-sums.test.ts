/** Fifty workers on one balance, on memory and over two connections to one Redis: what is left is exact. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { type Connection, connect } from '../../src/adapters/redis/connection.js'
import type { UnitsChargeStore } from '../../src/ports/charge-store.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

/** `CALLS=100000` before a change of the scripts is released. */
const CALLS = Number(process.env.CALLS ?? 3_000)
const WORKERS = 50
const SLOT = 'one balance'
/** What a call reserves; it costs at most as much. */
const TAKE = 10
/** The last calls find too little. */
const SOLD = Math.floor(CALLS * 0.7 * TAKE * 0.5)

let server: RedisServer
let connections: readonly Connection[]
beforeAll(async () => {
  server = await startRedis({ settings: ['save ""'] })
  connections = [1, 2].map(() => connect(server.url, 20_000))
})
afterAll(async () => {
  await Promise.all(connections.map(connection => connection.close()))
  await server.stop()
})

it.each<readonly [string, () => readonly UnitsChargeStore[]]>([
  ['memory', () => [memoryChargeStore({ callsMax: CALLS })]],
  ['Redis, over two connections', () => connections.map(connection => redisChargeStore(connection, 'sums:'))],
])(
  `${CALLS} calls of ${WORKERS} workers leave the exact sum: %s`,
  async (name, newStores) => {
    const stores = newStores()
    const [first] = stores as [UnitsChargeStore]
    await first.sell({ slot: SLOT, units: SOLD, expiresAtMs: (await first.now()) + 3_600_000 })
    const seen = { counted: 0, charged: 0, released: 0, short: 0 }
    let begun = 0

    async function oneCall(at: number, store: UnitsChargeStore): Promise<void> {
      const claim = { name: `k${at}`, bodyHash: 'body' }
      const call = { slot: SLOT, token: `t${at}`, claim, hasUnits: true, retentionMs: 600_000 }
      const opened = await store.open({ ...call, leaseMs: 30_000, take: TAKE })
      const isTaken = opened.verdict === 'opened' && opened.units?.verdict === 'taken'
      if (!isTaken || at % 7 === 0) {
        await store.close({ ...call, how: 'release' })
        seen[isTaken ? 'released' : 'short']++
        return
      }
      const charge = at % (TAKE + 1)
      const count = { ...call, how: 'complete', charge, answer: Uint8Array.of(at & 255) } as const
      // One in five is sent again, and by the other connection at once.
      const counts = [store, ...(at % 5 === 0 ? stores : [])].map(store => store.count(count))
      for (const { verdict } of await Promise.all(counts)) expect(verdict).toBe('closed')
      seen.counted++
      seen.charged += charge
    }

    const sinceMs = performance.now()
    await Promise.all(
      Array.from({ length: WORKERS }, async (_, worker) => {
        while (begun < CALLS) await oneCall(begun++, stores[worker % stores.length]!)
      }),
    )
    const perSecond = Math.round((1_000 * CALLS) / (performance.now() - sinceMs))
    console.log(`${name}: ${JSON.stringify(seen)}, ${perSecond} calls a second`)
    const left = SOLD - seen.charged
    const claim = { name: 'asking', bodyHash: 'body' }
    const asking = { slot: SLOT, token: 'asking', claim, hasUnits: true, take: Number.MAX_SAFE_INTEGER }
    const units = { verdict: 'short', unused: left, free: left }
    expect(await first.open({ ...asking, leaseMs: 1 })).toEqual({ verdict: 'opened', units })
    expect(left).toBeGreaterThanOrEqual(0)
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0)
    expect(begun).toBe(CALLS)
  },
  600_000,
)
