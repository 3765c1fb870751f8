/** The stores of a seller: in its process's own memory, or shared by all its replicas behind a network. */

import type { ChargeStore, Stores } from '../../../src/index.js'
import {
  type ChargeConnection,
  memoryChargeStore,
  memoryCounters,
  memorySubscriptions,
  memoryTasks,
  redisChargeStore,
  serverTime,
  withTimeout,
} from '../../../src/simulation-parts.js'
import type { Dice } from '../kernel/dice.js'
import { type LinkFaults, NO_FAULTS } from '../kernel/network.js'
import { EPOCH_MS, Process } from '../kernel/process.js'
import { redisModel } from '../stores/redis-model.js'
import { Replication } from '../stores/replication.js'
import { sharedWindows } from '../stores/shared-windows.js'
import type { World } from './world.js'

/** More than an episode has to keep, and fewer than a flood. */
const ANSWERS_KEPT_MAX = 60
/** More than an episode has; a store for 100,000 takes as long to make as some calls. */
const ACCOUNTS_MAX = 100
const COMMAND_TIMEOUT_MS = 2_000
const REPLICAS_MAX = 3
/** A replica is so far behind, mostly; and at the most, where the network was split and the old primary accepted writes. */
const BEHIND_MS = 20
const BEHIND_MAX_MS = 10_000
/** Half of the time limit, as the adapter's. */
const WAIT_MAX_MS = COMMAND_TIMEOUT_MS / 2
/** Until another Redis answers. */
const DOWN_MIN_MS = 100
const DOWN_MAX_MS = 15_000
/** Until the old primary is a replica, or takes over again. */
const ALONE_MAX_MS = 60_000
const COMES_BACK = 0.4
const PARTED_COMES_BACK = 0.8

export interface SellerStores {
  readonly of: (from: Process) => Stores
  /** Forgets what the conditions say. */
  forget(dice: Dice): void
  /**
   * Where the seller waits for replicas: none confirms a write from now on, one of them takes over, and the old primary comes back.
   * @returns whether there was a replica
   */
  part(dice: Dice): boolean
}

/** What one process keeps in its memory. */
export function ownStores({ truth, timeline }: World): SellerStores {
  // A seller in memory that deploys in its own process hands its stores to the next version.
  let kept: Stores | undefined
  return {
    of: from =>
      (kept ??= {
        charges: truth.watching(memoryChargeStore({ clock: from.clock, max: ANSWERS_KEPT_MAX }), from),
        credit: memoryCounters({ clock: from.clock, max: ACCOUNTS_MAX }),
        rateLimit: memoryCounters({ clock: from.clock, max: ACCOUNTS_MAX }),
        subscriptions: memorySubscriptions({ clock: from.clock }),
        tasks: memoryTasks({ clock: from.clock }),
      }),
    forget() {
      kept = undefined
      truth.losses.all(timeline.nowMs)
    },
    part: () => false,
  }
}

/** Where a store counts what a call on a balance cost. */
const COUNTING = 'svcCount'
/** Where it records what a call came to, before its payment settles. */
const RECORDING = 'svcRecord'

/** How soon after a move was given up its process is gone: before it can take anything back. */
const GONE_AFTER_MS = 100

const LATE: LinkFaults = { ...NO_FAULTS, late: 1 }
const LOST: LinkFaults = { ...NO_FAULTS, lost: 1 }

/** A record that arrives late, of a process that tells its caller so and dies at once. */
function recordFaults({ fate, timeline, conditions }: World, from: Process, place: string) {
  if (!place.endsWith(RECORDING)) return undefined
  const name = fate.numbered(`${place}.late`)
  if (!fate.strike(name, conditions.lateRecord, timeline.nowMs)) return undefined
  timeline.after(COMMAND_TIMEOUT_MS + GONE_AFTER_MS, () => from.die())
  return LATE
}

/**
 * A count of a process that stands still meanwhile, whose callers go and ask another one: it arrives late, or it is lost, and sent again
 * when its process moves.
 */
function countFaults(world: World, from: Process, place: string) {
  if (!place.endsWith(COUNTING)) return undefined
  const { fate, timeline, conditions } = world
  const wanted = world.isWanted('count')
  const strike = wanted ?? fate.strike(fate.numbered(`${place}.late`), conditions.lateRecord, timeline.nowMs)
  if (!strike) return undefined
  world.abandon(from, strike)
  return wanted ? LOST : LATE
}

/** What one Redis has: the model of its scripts, and the rest in memory there. Or a store of the seller's own. */
function redisOf(nowMs: () => number) {
  const clock = { now: () => EPOCH_MS + nowMs(), monotonic: nowMs }
  return {
    model: redisModel({ nowMs: clock.now }),
    credit: memoryCounters({ clock, max: ACCOUNTS_MAX }),
    rateLimit: memoryCounters({ clock, max: ACCOUNTS_MAX }),
    windows: sharedWindows(clock.now),
    tasks: memoryTasks({ clock }),
    own: memoryChargeStore({ clock, max: ANSWERS_KEPT_MAX * REPLICAS_MAX }),
  }
}

type Shared = ReturnType<typeof redisOf>

/** A move in the shared store. */
interface Move<Result> {
  /** Names its place, with the process that asks. */
  readonly what: string
  /** Whom it is about: its call, and then its payment. */
  readonly names?: readonly string[]
  readonly on: (stores: Shared) => Result | Promise<Result>
  /** What it does nothing after: what the port asks of every store. */
  readonly untilMs?: number
  /** It is answered when a replica has it, where the seller waits for that. */
  readonly isWaited?: boolean
}

type Ask = <Result>(move: Move<Result>) => Promise<Result>

/** One Redis, or a replica that has taken over: the real adapter over the model of its scripts. */
export function sharedStores(world: World): SellerStores {
  const { timeline, fate, truth, network } = world
  const { store, forgets } = world.conditions
  const held = new Replication(redisOf, () => timeline.nowMs)
  const waiting = new Set<() => void>()
  let server = new Process('redis', timeline)

  /**
   * Rejects where too few replicas have it in time. What was written is written all the same; and the replica that was cut off may take
   * over soon.
   */
  function confirmed<Result>(on: Process, place: string, done: Result | Promise<Result>) {
    const { length } = held
    const name = fate.numbered(`${place}.wait`)
    const cutOff = held.hasReplica ? fate.strike(name, world.conditions.losses, timeline.nowMs) : undefined
    const isBehind = !held.hasReplica || cutOff !== undefined
    if (cutOff?.chance(0.5)) timeline.after(cutOff.span(WAIT_MAX_MS, BEHIND_MAX_MS), () => forget(cutOff))
    return new Promise<Result>((resolve, reject) => {
      on.clock.after(isBehind ? WAIT_MAX_MS : fate.fractionOf(name) * BEHIND_MS, () => {
        if (isBehind) return reject(new Error('0 of 1 replicas confirmed a write'))
        held.confirm(length)
        resolve(done)
      })
    })
  }

  const recordedBy = (call: string, verdict: unknown) => {
    if (String(verdict) === 'recorded') truth.recordApplied(call)
  }

  function askedBy(from: Process): Ask {
    return ({ what, names = [], on, untilMs = Number.POSITIVE_INFINITY, isWaited = false }) => {
      const place = `${from.name}>redis.${what}`
      world.point(from, place, names[1])
      const struck = recordFaults(world, from, place) ?? countFaults(world, from, place)
      const asked = server
      const serve = () => {
        if (timeline.nowMs > untilMs) throw new Error('too late')
        const done = held.write(names, on)
        // Whether or not its answer arrives.
        if (what === RECORDING) Promise.resolve(done).then(verdict => recordedBy(names[0]!, verdict))
        return isWaited && forgets === 'waited' ? confirmed(asked, place, done) : done
      }
      const reply = network.ask(from, asked, place, struck ?? world.conditions.links.store, serve)
      return withTimeout(from.clock, COMMAND_TIMEOUT_MS, reply).finally(() => world.point(from, `${place}<`))
    }
  }

  function redisBy(from: Process, ask: Ask, isWaited: boolean): ChargeConnection {
    return {
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      send: command => ask({ what: 'send', on: ({ model }) => model.send(command) }),
      script: (name, lua) => (keys, args) => {
        const token = String(args[1])
        return ask({
          what: isCount(name, args) ? COUNTING : name,
          names: [token, ...keys.flatMap(key => /(?<=payment:)\w+$/.exec(String(key)) ?? [])],
          on: ({ model }) => model.script(name, lua)(keys, args),
          isWaited,
        })
      },
      onUp: listener => waiting.add(() => from.deliver(listener)),
    }
  }

  const chargesBy = (from: Process, ask: Ask): ChargeStore => {
    if (store === 'own') return remote(world, ask, ({ own }) => own, held.stores.own)
    const connection = redisBy(from, ask, false)
    const time = serverTime(connection, from.clock.monotonic)
    return redisChargeStore(connection, 'svc:', time, redisBy(from, ask, true))
  }

  return {
    of(from) {
      const ask = askedBy(from)
      return {
        charges: truth.watching(chargesBy(from, ask), from),
        credit: {
          take: (payer, terms) => ask({ what: 'take', on: ({ credit }) => credit.take(payer, terms) }),
          peek: (payer, terms) => ask({ what: 'take', on: ({ credit }) => credit.peek(payer, terms) }),
          giveBack: (payer, runs, terms) =>
            ask({ what: 'give', on: ({ credit }) => credit.giveBack(payer, runs, terms) }),
        },
        rateLimit: {
          take: (key, terms) => ask({ what: 'limit', on: ({ rateLimit }) => rateLimit.take(key, terms) }),
          peek: (key, terms) => ask({ what: 'peek', on: ({ rateLimit }) => rateLimit.peek(key, terms) }),
          giveBack: (key, count, terms) =>
            ask({ what: 'giveBack', on: ({ rateLimit }) => rateLimit.giveBack(key, count, terms) }),
        },
        subscriptions: {
          get: id => ask({ what: 'window', on: ({ windows }) => windows.get(id) }),
          putIfAbsent: (id, record) =>
            ask({ what: 'sell', on: ({ windows }) => windows.putIfAbsent(id, record), isWaited: true }),
          sweep: nowMs => ask({ what: 'sweep', on: ({ windows }) => windows.sweep(nowMs) }),
          delete: id => ask({ what: 'unsell', on: ({ windows }) => windows.delete!(id) }),
          take: (id, move) => ask({ what: 'takeCall', on: ({ windows }) => windows.take(id, move) }),
          use: (id, token) => ask({ what: 'useCall', on: ({ windows }) => windows.use(id, token) }),
          giveBack: (id, token) =>
            ask({ what: 'giveBackCall', on: ({ windows }) => windows.giveBack(id, token) }),
          now: () => ask({ what: 'now', on: () => EPOCH_MS + timeline.nowMs }),
        },
        tasks: remote(world, ask, ({ tasks }) => tasks, held.stores.tasks),
      }
    },
    forget,
    part(dice) {
      if (forgets !== 'waited' || !server.isAlive || !held.hasReplica) return false
      held.cutOff()
      world.trace('no replica confirms a write')
      timeline.after(dice.span(DOWN_MIN_MS, BEHIND_MAX_MS), () => forget(dice, PARTED_COMES_BACK))
      return true
    },
  }

  function forget(dice: Dice, comesBack = COMES_BACK): void {
    if (!server.isAlive || held.isAlone) return
    if (forgets === 'everything') {
      held.forgetAll()
      truth.losses.all(timeline.nowMs)
      replaced(dice)
      return
    }
    const isWaited = forgets === 'waited'
    const sinceMs = timeline.nowMs
    const lost = held.failOver(timeline.nowMs - dice.span(1, BEHIND_MAX_MS))
    truth.losses.latest(timeline.nowMs, lost, isWaited)
    replaced(dice)
    timeline.after(dice.span(DOWN_MIN_MS, ALONE_MAX_MS), () => {
      if (world.fate.isOver || !dice.chance(comesBack)) return held.rejoin()
      world.trace('the old primary takes over again')
      truth.losses.latest(timeline.nowMs, held.failBack(), isWaited)
      truth.losses.comesBack(sinceMs, timeline.nowMs, isWaited)
      replaced(dice)
    })
  }

  /** Another server takes the place of this one. */
  function replaced(dice: Dice): void {
    server.die()
    timeline.after(dice.span(DOWN_MIN_MS, DOWN_MAX_MS), () => {
      server = new Process('redis', timeline)
      for (const tell of waiting) tell()
    })
  }
}

/** Each of its functions, asked over the network. */
function remote<T extends object>({ timeline }: World, ask: Ask, pick: (stores: Shared) => T, shape: T): T {
  const functions = Object.entries(shape).filter(([, each]) => typeof each === 'function')
  return Object.fromEntries(
    functions.map(([name]) => [
      name,
      (...given: unknown[]) =>
        ask({
          what: OWN_PLACES[name] ?? name,
          names: given.flat().flatMap(namesIn),
          on: stores => (pick(stores) as Record<string, (...given: unknown[]) => unknown>)[name]!(...given),
          untilMs: timeline.nowMs + COMMAND_TIMEOUT_MS,
          isWaited: name === 'take',
        }),
    ]),
  ) as T
}

/** Faults that belong to a record strike it in every store. */
const OWN_PLACES: Readonly<Record<string, string>> = { record: RECORDING, count: COUNTING }

/** What a move names: its call and the payment. */
function namesIn(move: unknown): string[] {
  const { token, payment, txId } = (move ?? {}) as Record<string, unknown>
  return [token, payment, txId].filter(name => typeof name === 'string')
}

/** A close that takes from a balance. Its arguments are letters, a token, how, how long, what. */
function isCount(name: string, args: readonly unknown[]): boolean {
  return name === 'svcClose' && args[4] !== ''
}
