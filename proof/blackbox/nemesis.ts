/** What goes wrong and when: decided by the seed before anything runs. One thing at a time for each target. */
import { setTimeout as pause } from 'node:timers/promises'
import { seeded } from '../chaos/random.js'
import { askSandbox } from './fetch-from.js'
import type { History } from './history.js'
import type { SentinelRedis } from './redis-cluster.js'
import { REPLICAS, type Sellers } from './sellers.js'

export interface World {
  readonly sellers: Sellers
  readonly redis: SentinelRedis
  readonly sandboxUrl: string
  readonly history: History
}

/** Facilitator's faults that a seller cannot tell from one another, and those that it can. A lie about settling is believed, by design. */
const SETTLE_FAULTS = [
  'hang',
  'reset',
  '500',
  'die-before',
  'die-after',
  'late',
  'pending',
  'error-after',
  'refuse',
]
const VERIFY_FAULTS = ['hang', 'reset', '500', 'truncated', 'refuse']

type Random = ReturnType<typeof seeded>
type Deed = (world: World, random: Random) => Promise<void>

/** How often each is done, in parts of all; and for whom others wait meanwhile. */
const DEEDS: Readonly<
  Record<string, { weight: number; target: 'seller' | 'redis' | 'facilitator'; deed: Deed }>
> = {
  kill: {
    weight: 5,
    target: 'seller',
    deed: ({ sellers }, random) => sellers.kill(random.between(0, REPLICAS), random.between(0, 1_500)),
  },
  deploy: {
    weight: 3,
    target: 'seller',
    deed: ({ sellers }, random) => sellers.deploy(random.between(0, REPLICAS)),
  },
  suspend: {
    weight: 4,
    target: 'seller',
    deed: ({ sellers }, random) => sellers.suspend(random.between(0, REPLICAS), random.between(500, 6_000)),
  },
  'part silently': {
    weight: 3,
    target: 'seller',
    deed: ({ sellers }, random) =>
      sellers.part(random.between(0, REPLICAS), 'silent', random.between(500, 5_000)),
  },
  cut: {
    weight: 2,
    target: 'seller',
    deed: ({ sellers }, random) =>
      sellers.part(random.between(0, REPLICAS), 'cut', random.between(500, 3_000)),
  },
  'step the clock': {
    weight: 3,
    target: 'seller',
    deed: async ({ sellers }, random) => {
      const at = random.between(0, REPLICAS)
      sellers.setClock(at, random.pick([-3_600_000, -60_000, 60_000, 3_600_000]))
      await pause(random.between(500, 4_000))
      sellers.setClock(at, 0)
    },
  },
  'fail over': {
    weight: 2,
    target: 'redis',
    deed: async ({ redis }, random) => {
      await redis.failOver()
      await pause(random.between(0, 1_500))
      await redis.mend()
    },
  },
  forget: {
    weight: 1,
    target: 'redis',
    deed: async ({ redis }, random) => {
      await redis.forget(random.between(300, 2_000))
      await redis.mend()
    },
  },
  split: { weight: 2, target: 'redis', deed: ({ redis }, random) => redis.split(random.between(500, 4_000)) },
  fill: { weight: 2, target: 'redis', deed: ({ redis }, random) => redis.fill(random.between(300, 2_000)) },
  'fail to settle': {
    weight: 8,
    target: 'facilitator',
    deed: ({ sandboxUrl }, random) => fault(sandboxUrl, 'settle', random.pick(SETTLE_FAULTS), random),
  },
  'fail to verify': {
    weight: 3,
    target: 'facilitator',
    deed: ({ sandboxUrl }, random) => fault(sandboxUrl, 'verify', random.pick(VERIFY_FAULTS), random),
  },
}

async function fault(sandboxUrl: string, stage: string, behaviour: string, random: Random): Promise<void> {
  const url = `${sandboxUrl}/sandbox/faults`
  await askSandbox(url, { method: 'PUT', body: JSON.stringify({ stage, behaviour }) })
  await pause(random.between(200, 1_200))
  await askSandbox(`${url}?stage=${stage}`, { method: 'DELETE' })
}

/** Resolves, when all is mended, with what was done and how often. */
export async function torment(
  world: World,
  seed: number,
  durationMs: number,
): Promise<Record<string, number>> {
  const done: Record<string, number> = {}
  const endsMs = performance.now() + durationMs
  // Facilitators fail most often: what a settlement became is the question of most rules.
  const pauseMsMax = { seller: 1_500, redis: 4_000, facilitator: 400 }
  const lanes = (['seller', 'redis', 'facilitator'] as const).map(async (target, lane) => {
    const random = seeded(seed + lane)
    const deeds = Object.entries(DEEDS).filter(([, deed]) => deed.target === target)
    const drawn = deeds.flatMap(([name, { weight }]) => Array<string>(weight).fill(name))
    await pause(random.between(0, 1_000))
    while (performance.now() < endsMs) {
      const name = random.pick(drawn)
      world.history.add({ what: 'deed', atMs: Date.now(), name, isOver: false })
      await DEEDS[name]!.deed(world, random)
      world.history.add({ what: 'deed', atMs: Date.now(), name, isOver: true })
      done[name] = (done[name] ?? 0) + 1
      await pause(random.between(50, pauseMsMax[target]))
    }
  })
  await Promise.all(lanes)
  return done
}
