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
} from '../../../src/parts.js'
import { type LinkFaults, NO_FAULTS } from '../kernel/network.js'
import { Process } from '../kernel/process.js'
import { redisModel } from '../stores/redis-model.js'
import { sharedWindows } from '../stores/shared-windows.js'
import type { World } from './world.js'

/** More than an episode has to keep, and fewer than a flood. */
const ANSWERS_KEPT_MAX = 60
/** More than an episode has; a store for 100,000 takes as long to make as some calls. */
const ACCOUNTS_MAX = 100
const COMMAND_TIMEOUT_MS = 2_000
const REPLICAS_MAX = 3

export type StoresFor = (from: Process) => Stores

/** Dies with its process. */
export function ownStores(world: World): StoresFor {
  // A seller in memory that deploys in its own process hands its stores to the next version.
  let kept: Stores | undefined
  return from =>
    (kept ??= {
      charges: world.truth.watching(memoryChargeStore({ clock: from.clock, max: ANSWERS_KEPT_MAX }), from),
      credit: memoryCounters({ clock: from.clock, max: ACCOUNTS_MAX }),
      rateLimit: memoryCounters({ clock: from.clock, max: ACCOUNTS_MAX }),
      subscriptions: memorySubscriptions({ clock: from.clock }),
      tasks: memoryTasks({ clock: from.clock }),
    })
}

/** Where a store counts what a call on a balance cost. */
export const COUNTING = 'svcCount'

/** How soon after a move was given up its process is gone: before it can take anything back. */
const GONE_AFTER_MS = 100

const LATE: LinkFaults = { ...NO_FAULTS, late: 1 }
const LOST: LinkFaults = { ...NO_FAULTS, lost: 1 }

/** A record that arrives late, of a process that tells its caller so and dies at once. */
function recordFaults({ fate, timeline, conditions }: World, from: Process, place: string) {
  if (!place.endsWith('svcRecord')) return undefined
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

/** One Redis: the real adapter over the model of its scripts; the rest in memory there. */
export function sharedStores(world: World): StoresFor {
  const redis = new Process('redis', world.timeline, { nowMs: 0, upMs: 0 })
  const { clock } = redis
  const model = redisModel({ nowMs: clock.now })
  const credit = memoryCounters({ clock, max: ACCOUNTS_MAX })
  const rateLimit = memoryCounters({ clock, max: ACCOUNTS_MAX })
  const windows = sharedWindows(clock.now)
  const tasks = memoryTasks({ clock })
  const own = memoryChargeStore({ clock, max: ANSWERS_KEPT_MAX * REPLICAS_MAX })
  return from => {
    const ask = <T>(what: string, serve: () => T | Promise<T>): Promise<T> => {
      const { network, conditions } = world
      const place = `${from.name}>redis.${what}`
      world.point(from, place)
      const struck = recordFaults(world, from, place) ?? countFaults(world, from, place)
      const asked = network.ask(from, redis, place, struck ?? conditions.links.store, serve)
      return withTimeout(from.clock, COMMAND_TIMEOUT_MS, asked).finally(() => world.point(from, `${place}<`))
    }
    const connection: ChargeConnection = {
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      send: command => ask('send', () => model.send(command)),
      script: (name, lua) => {
        const run = model.script(name, lua)
        return (keys, args) =>
          ask(isCount(name, args) ? COUNTING : name, async () => {
            const reply = await run(keys, args)
            if (String(reply) === 'recorded') world.truth.recordApplied(String(args[1]))
            return reply
          })
      },
      onUp: () => {},
    }
    const charges =
      world.conditions.store === 'own'
        ? remote(recorded(world, own), (what, serve) => ask(what, inTime(world, serve)))
        : redisChargeStore(connection, 'svc:', serverTime(connection, from.clock.monotonic))
    return {
      charges: world.truth.watching(charges, from),
      credit: {
        take: (payer, terms) => ask('take', () => credit.take(payer, terms)),
        peek: (payer, terms) => ask('take', () => credit.peek(payer, terms)),
        giveBack: (payer, runs, terms) => ask('give', () => credit.giveBack(payer, runs, terms)),
      },
      rateLimit: {
        take: (key, terms) => ask('limit', () => rateLimit.take(key, terms)),
        peek: (key, terms) => ask('peek', () => rateLimit.peek(key, terms)),
        giveBack: (key, count, terms) => ask('giveBack', () => rateLimit.giveBack(key, count, terms)),
      },
      subscriptions: {
        get: id => ask('window', () => windows.get(id)),
        putIfAbsent: (id, record) => ask('sell', () => windows.putIfAbsent(id, record)),
        sweep: nowMs => ask('sweep', () => windows.sweep(nowMs)),
        delete: id => ask('unsell', () => windows.delete!(id)),
        take: (id, move) => ask('takeCall', () => windows.take(id, move)),
        use: (id, token) => ask('useCall', () => windows.use(id, token)),
        giveBack: (id, token) => ask('giveBackCall', () => windows.giveBack(id, token)),
        now: () => ask('now', () => clock.now()),
      },
      tasks: remote(tasks, ask),
    }
  }
}

/** Each of its functions, asked over the network. */
function remote<T extends object>(
  store: T,
  ask: (what: string, serve: () => unknown) => Promise<unknown>,
): T {
  const functions = Object.entries(store).filter(([, each]) => typeof each === 'function')
  return Object.fromEntries(
    functions.map(([name, move]) => [
      name,
      (...given: unknown[]) => ask(OWN_PLACES[name] ?? name, () => move.apply(store, given)),
    ]),
  ) as T
}

/** Faults that belong to a record strike it in every store. */
const OWN_PLACES: Readonly<Record<string, string>> = { record: 'svcRecord', count: COUNTING }

/** A close that takes from a balance. Its arguments are letters, a token, how, how long, what. */
function isCount(name: string, args: readonly unknown[]): boolean {
  return name === 'svcClose' && args[4] !== ''
}

/** A move that arrives after its caller has given it up does nothing: what the port asks of every store. */
function inTime<T>({ timeline }: World, serve: () => T): () => T {
  const untilMs = timeline.nowMs + COMMAND_TIMEOUT_MS
  return () => {
    if (timeline.nowMs > untilMs) throw new Error('too late')
    return serve()
  }
}

/** Says when the store has made a record, whether or not its answer arrives. */
function recorded({ truth }: World, store: ChargeStore): ChargeStore {
  const record: ChargeStore['record'] = async move => {
    const verdict = await store.record(move)
    if (verdict === 'recorded') truth.recordApplied(move.token)
    return verdict
  }
  return { ...store, record }
}
