/**
 * What one episode is like, rolled from its seed. Each kind of trouble is left out of many episodes, so that the others are
 * seen without it (swarm testing: Groce et al., ISSTA 2012).
 */
import type { ServeOptions } from '../../src/index.js'
import { Dice } from './kernel/dice.js'
import { type LinkFaults, NO_FAULTS } from './kernel/network.js'
import { type Features, featuresOf } from './pairs.js'

export interface Conditions {
  /** `market`: buyers of our seller. `hoard`: our client, its caps, and a seller that wants more, over days. */
  readonly kind: 'market' | 'hoard'
  readonly replicas: number
  /** `memory`: one process with its own store. `redis`: replicas over the model of Redis. `own`: replicas over a seller's own store. */
  readonly store: Features['store']
  readonly forgets: Features['forgets']
  /** How often the store forgets, soon after a payment was sent to be settled. */
  readonly losses: number
  readonly agents: Features['agents']
  readonly deploy: Features['deploy']
  /** What one act of the episode is about; absent where there is no market. */
  readonly features: Features | undefined
  readonly onLostResponse: 'release' | 'replay' | undefined
  readonly confirm: 'facilitator' | 'chain'
  /** How many runs an unknown payer has; `undefined` for any number. */
  readonly creditStart: number | undefined
  /** The seller's `advanced.timeouts`, where it has chosen some: each alone, so that any may be the longest. */
  readonly timeouts: Timeouts
  readonly perMinute: number | undefined
  readonly buyers: number
  readonly actsPerBuyer: number
  /** How many calls a window has; `undefined` where only time ends it. */
  readonly windowCalls: number | undefined
  /** How long a balance lasts: mostly longer than the episode. */
  readonly balancePeriod: string
  /** Whether a part of what is sold by the call is streams. */
  readonly sellsStreams: boolean
  /** Acts begin within this time. */
  readonly spanMs: number
  readonly links: Readonly<Record<Link, LinkFaults>>
  /** How often a caller hangs up, at a random moment. */
  readonly hangUp: number
  /** How often a replica dies, or stands still, at a moment when it asks or hears somebody. */
  readonly death: number
  readonly standstill: number
  /** How often all of it comes together, by the settlement; see `World.ambush`. */
  readonly ambush: number
  /** How often a record arrives late, of a process that dies when it has told its caller so. */
  readonly lateRecord: number
  /** How often a replica is told to stop, by the act. */
  readonly drains: number
  readonly facilitator: Misbehaviour
  /** A second facilitator, and whether it is hostile: it finds every payment valid, and settles none. */
  readonly backup: 'none' | 'honest' | 'hostile'
  /** Whether each process of the seller has a facilitator in it, in the place of one elsewhere. */
  readonly isInProcess: boolean
  readonly node: NodeTrouble
  /** Whether handlers run in the seller's process, or behind upstreams. */
  readonly runs: Features['runs']
  readonly origin: OriginTrouble
  /** How often an append to a journal finds the disk full. */
  readonly fullDisk: number
  /** How far clocks of processes are apart, at most. */
  readonly skewMs: number
  /** Whether they are set while an episode runs. */
  readonly clocksJump: boolean
  readonly mount: Features['mount']
}

type Timeouts = NonNullable<NonNullable<ServeOptions['advanced']>['timeouts']>

export type Link = 'http' | 'facilitator' | 'node' | 'store'

export interface Misbehaviour {
  /** Of each question. */
  readonly probability: number
  /** Says yes to what it did not do, or no to what it did: only where the chain has the last word. */
  readonly lies: boolean
  /** How often it restarts, at a question. */
  readonly death: number
}

export interface NodeTrouble {
  /** Rounds that an answer may be behind; each answer by itself, as behind a balancer. */
  readonly lagRounds: number
  /** Of each question: status 500. */
  readonly errors: number
  /** Of each question: an answer of another network. */
  readonly foreign: number
}

export interface OriginTrouble {
  readonly link: LinkFaults
  /** Of each request: a status that is not sold. */
  readonly failures: number
  /** Of each answer: its connection ends in the middle. */
  readonly cuts: number
  /** How often it restarts, at a request. */
  readonly death: number
}

const NO_TROUBLE: OriginTrouble = { link: NO_FAULTS, failures: 0, cuts: 0, death: 0 }

const DAY_MS = 86_400_000
/** Fewer than some buyers make. */
const WINDOW_CALLS = 3

function troubleOf(dice: Dice) {
  const often = (share: number, max: number) => (dice.chance(share) ? max * dice.fraction() : 0)
  const link = (share: number, max: number): LinkFaults =>
    dice.chance(share)
      ? {
          refused: often(0.5, max),
          lost: often(0.4, max / 2),
          unheard: often(0.4, max / 2),
          reset: often(0.5, max),
          late: often(0.5, max),
          lateAnswer: often(0.4, max),
        }
      : NO_FAULTS
  return { often, link }
}

/** Dice of its own: the rest of an episode is as it was before there were upstreams. */
function originTrouble(seed: string): OriginTrouble {
  const { often, link } = troubleOf(new Dice(`${seed}/origin`))
  return { link: link(0.6, 0.1), failures: often(0.5, 0.15), cuts: often(0.5, 0.15), death: often(0.3, 0.03) }
}

/** Mostly what a server has by default. */
const creditOf = (dice: Dice) => (dice.chance(0.6) ? 8 : dice.between(1, 7))

/** Shortest and longest. Steps that no step of an episode waits for are left out. */
const TIMEOUTS = {
  verifyMs: [500, 30_000],
  settleMs: [500, 60_000],
  certaintyMs: [1_000, 120_000],
  reconcilePauseMs: [50, 5_000],
  creditMs: [100, 90_000],
  leaseMs: [300, 60_000],
} as const satisfies Partial<Record<keyof Timeouts, readonly [min: number, max: number]>>

function timeoutsOf(dice: Dice): Timeouts {
  if (dice.chance(0.4)) return {}
  const chosen = Object.entries(TIMEOUTS).filter(() => dice.chance(0.5))
  return Object.fromEntries(
    chosen.map(([name, [min, max]]) => [name, dice.pick([min, max, dice.span(min, max)])]),
  )
}

export function conditionsOf(seed: string): Conditions {
  const dice = new Dice(`${seed}/conditions`)
  const { often, link } = troubleOf(dice)
  const kind = dice.chance(0.9) ? 'market' : 'hoard'
  dice.chance(0.75)
  const features = kind === 'market' ? featuresOf(seed) : undefined
  const store = features?.store ?? 'memory'
  const isShared = store !== 'memory'
  const replicas = kind === 'hoard' ? 0 : store === 'memory' ? 1 : dice.between(1, 3)
  dice.chance(0.35)
  const confirm = features?.confirm ?? 'facilitator'
  return {
    kind,
    replicas,
    store,
    forgets: features?.forgets ?? 'nothing',
    losses: (features?.forgets ?? 'nothing') === 'nothing' ? 0 : 0.1 * new Dice(`${seed}/losses`).fraction(),
    agents: features?.agents ?? 'one',
    deploy: features?.deploy ?? 'none',
    features,
    onLostResponse: features === undefined || features.mode === 'none' ? undefined : features.mode,
    confirm,
    creditStart: dice.chance(0.8) ? creditOf(new Dice(`${seed}/credit`)) : undefined,
    timeouts: timeoutsOf(new Dice(`${seed}/timeouts`)),
    perMinute: dice.chance(0.15) ? dice.between(3, 30) : undefined,
    buyers: kind === 'hoard' ? dice.between(1, 2) : dice.between(2, 6),
    actsPerBuyer: kind === 'hoard' ? dice.between(20, 80) : dice.between(3, 12),
    // Dice of their own: the rest of an episode is as it was before windows had a count, and before streams.
    windowCalls: (
      features?.sold === 'call'
        ? new Dice(`${seed}/window`).chance(0.5)
        : features?.sold === 'calls'
    )
      ? WINDOW_CALLS
      : undefined,
    balancePeriod: new Dice(`${seed}/balance`).chance(0.25) ? '60s' : '24h',
    sellsStreams: new Dice(`${seed}/streams`).chance(0.5),
    spanMs: kind === 'hoard' ? 2 * DAY_MS : Math.max(dice.between(20_000, 240_000), leastSpanMs(features)),
    links: {
      http: link(0.6, 0.12),
      facilitator: link(0.6, 0.2),
      node: link(0.5, 0.2),
      store: isShared ? link(0.5, 0.08) : NO_FAULTS,
    },
    hangUp: often(0.5, 0.2),
    // What lives in one process's memory dies with it: that is documented, and not what is looked for.
    death: isShared ? often(0.5, 0.015) : 0,
    standstill: often(0.5, 0.015),
    lateRecord: isShared ? often(0.4, 0.15) : 0,
    ambush: replicas > 1 ? often(0.5, 0.4) : 0,
    drains: isShared ? often(0.3, 0.05) : 0,
    facilitator: {
      probability: often(0.6, 0.35),
      lies: confirm === 'chain',
      death: often(0.3, 0.02),
    },
    backup: BACKUPS[features?.facilitators ?? 'one'],
    isInProcess: features?.facilitators === 'in process',
    node: {
      lagRounds: dice.chance(0.5) ? dice.between(1, 12) : 0,
      errors: often(0.4, 0.3),
      foreign: often(0.15, 0.3),
    },
    runs: features?.runs ?? 'handler',
    origin: features?.runs === 'upstream' ? originTrouble(seed) : NO_TROUBLE,
    fullDisk: troubleOf(new Dice(`${seed}/disk`)).often(0.3, 0.3),
    skewMs: (features?.clocks ?? 'together') === 'together' ? 0 : dice.between(600_000, 10_800_000),
    clocksJump: features?.clocks === 'jumping',
    mount: features?.mount ?? 'none',
  }
}

/** Where servers of a store lose each other: a minute and more, until all of them are together again. */
function leastSpanMs(features: Features | undefined): number {
  return features?.forgets === 'waited' ? 120_000 : 0
}

const BACKUPS = { one: 'none', several: 'honest', hostile: 'hostile', 'in process': 'none' } as const

/** How keys are kept, whichever version of a seller is asked. */
export function promisedMode({ onLostResponse, deploy }: Conditions): Conditions['onLostResponse'] {
  return deploy === 'mode' ? undefined : onLostResponse
}

/** Whether a store may not hear in time what a call of a window came to. */
export function mayForgetCalls(conditions: Conditions): boolean {
  const { death, standstill, ambush, lateRecord, links, forgets } = conditions
  const troubles = [death, standstill, ambush, lateRecord, ...Object.values(links.store)]
  return forgets !== 'nothing' || troubles.some(often => often > 0)
}

/** The same world without trouble. */
export function calm(conditions: Conditions): Conditions {
  return {
    ...conditions,
    links: { http: NO_FAULTS, facilitator: NO_FAULTS, node: NO_FAULTS, store: NO_FAULTS },
    hangUp: 0,
    death: 0,
    standstill: 0,
    ambush: 0,
    lateRecord: 0,
    losses: 0,
    drains: 0,
    facilitator: { probability: 0, lies: false, death: 0 },
    node: { lagRounds: 0, errors: 0, foreign: 0 },
    origin: NO_TROUBLE,
    fullDisk: 0,
  }
}
