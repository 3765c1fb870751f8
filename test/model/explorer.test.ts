/** Every interleaving of two calls over the store's decision, and what the walk is worth: each planted fault is found. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { exploreBalance } from '../../proof/model/balance.js'
import { BALANCE_PLANTS } from '../../proof/model/balance-plants.mjs'
import { BALANCE_CASES } from '../../proof/model/balance-world.js'
import { CASES_OF_THREE, CASES_OF_TWO } from '../../proof/model/cases.js'
import { type Explored, explore } from '../../proof/model/explore.js'
import { type Figures, figuresOf } from '../../proof/model/figures.js'
import { PLANTS } from '../../proof/model/plants.mjs'
import { huntFor } from '../../proof/model/run-plants.mjs'
import { ShortestTraces, type Trace } from '../../proof/model/shortest-traces.js'
import type { Case } from '../../proof/model/world.js'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { type Edit, virtualRedis } from '../support/redis-virtual.js'
import { canHappen, replay, type TimedStore } from './replayed-trace.js'

/** A world that grows past this has become another one: then say so here. */
const STATES_MAX = 200_000

const published: readonly Figures[] = JSON.parse(
  readFileSync(new URL('../../docs/machines/explored.json', import.meta.url), 'utf8'),
)

const BALANCES_OF_TWO = BALANCE_CASES.filter(({ calls }) => calls.length === 2)

interface Walk extends Explored {
  readonly traces: readonly Trace[]
}

const walks = new Map<Case, Walk>()

function walkOf(plan: Case): Walk {
  const shortest = new ShortestTraces()
  const { onQuiet, onStep } = shortest
  const walk = walks.get(plan) ?? {
    ...explore(plan, { statesMax: STATES_MAX, onQuiet, onStep }),
    traces: shortest.all,
  }
  walks.set(plan, walk)
  return walk
}

describe('two calls, in every order', () => {
  for (const plan of CASES_OF_TWO)
    it(`${plan.name}: no rule is broken`, { timeout: 120_000 }, () => {
      const { violations, isComplete } = walkOf(plan)
      const told = [...violations].map(([rule, trace]) => [rule, ...trace.map(({ label }) => label)])
      expect(told).toEqual([])
      expect(isComplete).toBe(true)
    })
})

/** Where they differ, the behaviour has changed: `npm run explore` walks three calls anew as well, and publishes all figures. */
describe('the published figures', { timeout: 300_000 }, () => {
  it('of two calls are those of this walk', () => {
    expect(published.filter(({ calls }) => calls === 2)).toEqual([
      ...CASES_OF_TWO.map(plan => figuresOf(plan, walkOf(plan))),
      ...BALANCES_OF_TWO.map(plan => figuresOf(plan, exploreBalance(plan))),
    ])
  })

  it('are of every case, and no rule is broken in one', () => {
    expect(published.map(({ name }) => name)).toEqual(
      [...CASES_OF_TWO, ...CASES_OF_THREE, ...BALANCE_CASES].map(({ name }) => name),
    )
    expect(published.flatMap(({ refuted }) => refuted)).toEqual([])
  })
})

describe('the traces to every end and every answer of two calls', { timeout: 300_000 }, () => {
  const allTraces = () => CASES_OF_TWO.flatMap(plan => walkOf(plan).traces)

  it('are many, and nearly all can happen where time forgets', () => {
    const traces = allTraces()
    expect(traces.length).toBeGreaterThan(2_000)
    expect(traces.filter(canHappen).length / traces.length).toBeGreaterThan(0.9)
  })

  it('are answered in memory as in the model', async () => {
    const differing = await replayAll(allTraces(), async () => {
      let nowMs = 0
      const store = memoryChargeStore({ clock: { now: Date.now, monotonic: () => nowMs } })
      const advance = (ms: number) => {
        nowMs += ms
      }
      return { store, advance }
    })
    expect(differing).toEqual([])
  })

  it('are answered by the scripts on Redis as in the model', async () => {
    expect(await replayOnRedis(allTraces())).toEqual([])
  })

  it.each<[string, Edit]>([
    [
      'lets a record pass without its payment',
      lua => lua.replace('not payment or payment.token ~= token', 'false'),
    ],
    [
      'leaves a taken key its old token',
      lua => lua.replace("'token', token, 'leaseEndsMs'", "'leaseEndsMs'"),
    ],
    ['frees the payment of a key that was taken over', lua => lua.replace("how ~= 'release' or", 'true or')],
    ['renews a payment of another call', lua => lua.replace('if key.p and not ours(payment)', 'if false')],
    [
      'loses an answer under the name of a call that stopped',
      lua => lua.replace('named.leaseEndsMs <= nowMs', 'false'),
    ],
  ])('differ on a Redis that %s', async (_, plant) => {
    expect(await replayOnRedis(allTraces(), plant)).not.toEqual([])
  })
})

async function replayOnRedis(traces: readonly Trace[], edit?: Edit): Promise<readonly string[]> {
  const redis = await virtualRedis(edit)
  try {
    return await replayAll(traces, async () => {
      const { connection, prefix, time, advance } = await redis.world()
      return { store: redisChargeStore(connection, prefix, time), advance }
    })
  } finally {
    await redis.stop()
  }
}

const AT_ONCE = 200

/** Each trace has a store of its own. Returns the first that differ, step by step. */
async function replayAll(
  traces: readonly Trace[],
  newStore: () => Promise<TimedStore>,
): Promise<readonly string[]> {
  const possible = traces.filter(canHappen)
  for (let from = 0; from < possible.length; from += AT_ONCE) {
    const replays = possible.slice(from, from + AT_ONCE).map(async trace => {
      const told = (cause: Error) => {
        const { world, leadsTo, steps } = trace
        const path = steps.map(({ label }) => `  ${label}`)
        return [`${world.plan.name}, to ${leadsTo}:`, ...path, cause.message].join('\n')
      }
      return replay(trace, await newStore()).then(() => [], told)
    })
    const differing = (await Promise.all(replays)).flat()
    if (differing.length > 0) return differing
  }
  return []
}

describe('a fault in the decision', () => {
  for (const plant of [...PLANTS, ...BALANCE_PLANTS])
    it(`is found: ${plant.says}`, { timeout: 120_000 }, async () => {
      expect(await huntFor(plant)).toMatchObject({ rule: expect.any(String) })
    })

  it('that is not there any more cannot be planted', async () => {
    const gone = {
      name: 'gone',
      says: '',
      in: '',
      edits: [{ ...PLANTS[0]!.edits[0]!, find: 'no such text' }],
    }
    await expect(huntFor(gone)).rejects.toThrow('has no one place that reads no such text')
  })
})

describe('a store without deadlines', () => {
  it('makes a record that its call has given up', () => {
    const plan = { ...CASES_OF_TWO[0]!, ignoresDeadlines: true }
    const { violations } = explore(plan, { isFirstEnough: true })
    expect([...violations.keys()]).toEqual(['a record that its call has given up is not made later'])
  })
})
