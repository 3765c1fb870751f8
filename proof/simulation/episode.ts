/** One episode: a world with its trouble, what its buyers do in it, its healing, and what must hold at the end. */
import { CAPS } from './caps.js'
import { type Conditions, conditionsOf } from './conditions.js'
import { checkedAtTheEnd } from './invariants/at-the-end.js'
import type { Dice } from './kernel/dice.js'
import type { Strike } from './kernel/fate.js'
import { quiet } from './machine.js'
import { ACTS, type Act, type ActKind, HOARD_ACTS } from './parties/acts.js'
import { Buyer } from './parties/buyer.js'
import { HOSTILE_HOST, hostileSeller } from './parties/hostile-seller.js'
import { inWindow } from './parties/in-window.js'
import { onBalance } from './parties/on-balance.js'
import { paired } from './parties/paired.js'
import { strange } from './parties/strangers.js'
import { parts, soldAgain, takenOver } from './parties/take-overs.js'
import type { Violation } from './world/truth.js'
import { World } from './world/world.js'

export interface EpisodeOptions {
  readonly seed: string
  /** The only faults and acts that happen: the names of a smaller failure. */
  readonly only?: ReadonlySet<string>
  readonly onLine?: (line: string) => void
}

export interface Episode {
  readonly seed: string
  readonly conditions: Conditions
  /** Calls that were walked to their end, and requests that were sent. */
  readonly calls: number
  readonly requests: number
  readonly charges: number
  readonly violations: readonly Violation[]
  readonly strikes: readonly Strike[]
  readonly acts: readonly string[]
  readonly finals: Readonly<Record<string, number>>
  /** Pairs of features that met in a call. */
  readonly met: readonly string[]
}

/** Longer than the most patient client waits, again and again. */
const ACTS_MAX_MS = 60 * 60_000
/** Payments live 108 rounds; leases, closing moves and handlers are over long before. */
const HEALING_MS = 7 * 60_000
/** Floods are dear to simulate, and rare. */
const WEIGHTS: Partial<Record<ActKind, number>> = { flood: 1, subscribe: 24 }
const KINDS = (Object.keys(ACTS) as ActKind[]).flatMap(kind => Array<ActKind>(WEIGHTS[kind] ?? 8).fill(kind))

/** Enough for one call of the cheapest endpoint: of many payments at once, one lands. */
const POOR = { microAlgos: 1_000_000n, usdc: 15_000n }

/** Buyers of an episode who act out its row of features: the second one when all trouble is over. */
const PAIRED = 2
/** Buyers of an episode who use balances: the last one when all trouble is over. */
const PREPAID = 3
/** Buyers of an episode who drain windows that count their calls: the second one when all trouble is over. */
const DRAINING = 2
/** Buyers of an episode whose calls are taken over, where there are replicas. */
const TAKEN_OVER = 2
/** Buyers of an episode who call while the servers of its store lose each other, where the seller waits for replicas. */
const PARTED = 3
/** Early enough for a failover and another one back. */
const PARTS_MS = 30_000
/** Within so long the second one begins. */
const CALM_MS = 30_000
/** Less than a process takes to start again. */
const ENDING_MS = 100

export async function episode({ seed, only, onLine }: EpisodeOptions): Promise<Episode> {
  const conditions = conditionsOf(seed)
  return quiet(async machine => {
    const world = new World({ seed, conditions, ...(only && { faults: only }), ...(onLine && { onLine }) })
    machine.nowMs = () => world.timeline.nowMs
    machine.dispatch = (options, reply) => world.origin.dispatch(options, reply)
    const { acts, buyers } = begin(world, only)
    const { truth, timeline } = world
    const failed = () => truth.violations.length > 0
    await timeline.run(conditions.spanMs, failed)
    world.heal()
    await timeline.run(conditions.spanMs + ACTS_MAX_MS, () => failed() || world.acting === 0)
    if (world.acting > 0) truth.violated('acts-end', `${world.acting} acts have not ended`)
    await timeline.run(timeline.nowMs + HEALING_MS, failed)
    if (!failed()) await checkedAtTheEnd(world, buyers)
    world.seller.end()
    // What was half written is given up.
    await timeline.run(timeline.nowMs + ENDING_MS)
    world.journals.clear()
    const finals: Record<string, number> = {}
    for (const { final } of truth.calls) finals[final] = (finals[final] ?? 0) + 1
    return {
      seed,
      conditions,
      calls: truth.calls.length,
      requests: truth.askings.length,
      charges: world.ledger.transactions().filter(({ asset }) => asset !== null).length,
      violations: truth.violations,
      strikes: world.fate.strikes,
      acts,
      finals,
      met: world.met,
    }
  })
}

/** Puts every act on the timeline. */
function begin(world: World, only: ReadonlySet<string> | undefined) {
  const { conditions, timeline, fate } = world
  const acts: string[] = []
  const buyers: Buyer[] = []
  const schedule = (
    buyer: Buyer,
    act: string,
    dice: Dice,
    perform: Act,
    fromMs = 0,
    withinMs = fromMs > 0 ? CALM_MS : conditions.spanMs,
  ) => {
    if (only && !only.has(act)) return
    acts.push(act)
    const isLate = fromMs > 0
    // It is waited for, too.
    if (isLate) world.acting++
    timeline.after(fromMs + dice.between(0, withinMs), () => {
      world.trace(`${buyer.name} begins ${act}: ${perform.name}`)
      if (!isLate) world.acting++
      perform({ world, buyer, act, dice })
        .catch(error => world.truth.violated('the-simulation-works', `${act}: ${error?.stack ?? error}`))
        .finally(() => world.acting--)
      if (fate.strike(`${act}.drain`, conditions.drains, timeline.nowMs))
        world.seller.drain(dice.between(0, conditions.replicas - 1))
    })
  }
  for (let who = 1; who <= conditions.buyers; who++) {
    const name = `buyer${who}`
    const hosts = { [HOSTILE_HOST]: hostileSeller(world, fate.dice('hostile')) }
    const buyer = new Buyer(world, name, conditions.kind === 'hoard' ? { hosts, ...CAPS } : {})
    buyers.push(buyer)
    world.fund(name, fate.dice(`${name}.poor`).chance(0.2) ? POOR : undefined)
    for (let at = 1; at <= conditions.actsPerBuyer; at++) {
      const act = `act${who}.${at}`
      const dice = fate.dice(act)
      const kind = dice.pick(KINDS)
      schedule(buyer, act, dice, conditions.kind === 'hoard' ? HOARD_ACTS.shop : ACTS[kind])
    }
    if (conditions.features && who <= PAIRED)
      schedule(buyer, `pair${who}`, fate.dice(`pair${who}`), paired, who === 1 ? 0 : conditions.spanMs)
    if (conditions.features && who <= PAIRED)
      schedule(buyer, `strange${who}`, fate.dice(`strange${who}`), strange, who === 1 ? 0 : conditions.spanMs)
    if (conditions.features && conditions.replicas > 1 && who <= TAKEN_OVER)
      schedule(buyer, `taken${who}`, fate.dice(`taken${who}`), takenOver)
    if (conditions.forgets === 'waited' && conditions.replicas > 1)
      schedule(buyer, `sale${who}`, fate.dice(`sale${who}`), soldAgain)
    if (conditions.forgets === 'waited' && who <= PARTED)
      schedule(buyer, `parted${who}`, fate.dice(`parted${who}`), parts, 0, PARTS_MS)
    if (conditions.features && who <= DRAINING)
      schedule(buyer, `window${who}`, fate.dice(`window${who}`), inWindow, who === 1 ? 0 : conditions.spanMs)
    if (conditions.features && who <= PREPAID)
      schedule(
        buyer,
        `prepaid${who}`,
        fate.dice(`prepaid${who}`),
        onBalance,
        who < PREPAID ? 0 : conditions.spanMs,
      )
  }
  return { acts, buyers }
}
