// Loaded before an episode: a file that is read meanwhile would take no simulated time.
import '../../../src/adapters/mcp/tool-server.js'
import type { RequestListener } from 'node:http'
import type { ServerOptions } from '../../../src/index.js'
import {
  algorandPaymentReader,
  assemble,
  auditOf,
  createDrain,
  type Drain,
  fetchHost,
  koaHost,
  type ServerSettings,
  settingsOf,
  sleep,
  turns,
} from '../../../src/simulation-parts.js'
import { type Dice, seededRandom } from '../kernel/dice.js'
import { ConnectionLost } from '../kernel/network.js'
import { Process } from '../kernel/process.js'
import { keyOf } from './accounts.js'
import { ANSWER_BYTES_MAX, agentOf, SISTER, type Sold, termsAfter } from './agents.js'
import { skewOf } from './clocks.js'
import { fetched } from './fetch-wire.js'
import { gatedAgent, gatedFetch, gatedKoa, type Parts } from './gates.js'
import type { OwnJournal } from './journals.js'
import { mountedIn, prefixOf } from './mounts.js'
import { ownFacilitator } from './own-facilitator.js'
import { ownStores, type SellerStores, sharedStores } from './stores.js'
import { type HangUp, received, type WireReply, type WireRequest } from './wire.js'
import type { World } from './world.js'

const BACKUP_HOST = 'backup.example'
const NODE_HOST = 'node.example'
const SHUTDOWN_MS = 30_000
const RESTART_MIN_MS = 500
const RESTART_MAX_MS = 20_000
const LAST_WORDS_MS = 3_000
/** Between one replica's deploy and the next one's. */
const ROLLING_MS = 15_000

/** One agent in a process: on Node, and for `fetch`. */
export interface Host {
  readonly listener: RequestListener
  readonly fetch: (request: Request) => Promise<Response>
}

interface Replica {
  readonly process: Process
  readonly drain: Drain
  readonly journal: OwnJournal
  readonly seller: Host
  readonly sister: Host | undefined
}

export class Seller {
  readonly payTo = keyOf('seller').address
  readonly #world: World
  readonly #stores: SellerStores
  readonly #replicas: (Replica | undefined)[] = []
  #starts = 0
  /** Whether processes that start from now on run the other version. */
  #isNew = false

  constructor(world: World) {
    this.#world = world
    this.#stores = world.conditions.store === 'memory' ? ownStores(world) : sharedStores(world)
    for (let place = 0; place < world.conditions.replicas; place++) this.#start(place)
  }

  /** Calls at work, in all replicas that live. */
  get inFlight(): number {
    return this.#replicas.reduce((sum, replica) => sum + (replica?.drain.count() ?? 0), 0)
  }

  /**
   * How far the clock by which windows and balances end has been ahead of the simulation's, at the least and at the most: in memory,
   * that of the one process.
   */
  get skewMs(): { readonly least: number; readonly most: number } {
    const [replica] = this.#replicas
    const skews = this.#world.conditions.store === 'memory' && replica ? replica.process.skews : [0]
    return { least: Math.min(...skews), most: Math.max(...skews) }
  }

  /** To a replica that the balancer picks; `place` names the caller's link. */
  request(from: Process, place: string, request: WireRequest, hangUp: HangUp): Promise<WireReply> {
    const { fate, network, conditions } = this.#world
    const at = Math.floor(fate.fractionOf(fate.numbered(`${place}.balance`)) * this.#replicas.length)
    const replica = this.#replicas[at] ?? this.#replicas.find(each => each !== undefined)
    if (!replica) return Promise.reject(new ConnectionLost('ECONNREFUSED'))
    const { process, seller, sister } = replica
    const asked = { ...request, target: prefixOf(conditions.mount) + request.target }
    const host = sister && request.host === new URL(SISTER).host ? sister : seller
    return network.ask(from, process, `${place}>seller`, conditions.links.http, () =>
      request.isFetched
        ? fetched(process, host.fetch, asked, hangUp)
        : received(process, host.listener, asked, hangUp),
    )
  }

  /** The other version, in one replica after the other. */
  deploy(): void {
    this.#isNew = !this.#isNew
    const { timeline } = this.#world
    for (const [place] of this.#replicas.entries())
      timeline.after(place * ROLLING_MS, () => this.drain(place))
  }

  /** At once, with all that it was doing. */
  kill(place: number): void {
    this.#replicas[place]?.process.die()
  }

  /** All of it ends with the episode. */
  end(): void {
    for (const place of this.#replicas.keys()) this.kill(place)
  }

  /** The store forgets; one that is in a process's memory ends with the process. */
  forget(dice: Dice): void {
    const { store, forgets } = this.#world.conditions
    if (forgets === 'nothing') return
    this.#world.trace(`the store forgets: ${forgets}`)
    this.#stores.forget(dice)
    if (store === 'memory') this.kill(0)
  }

  /** Its store's servers lose each other. @returns whether they do */
  part(dice: Dice): boolean {
    return this.#stores.part(dice)
  }

  /** As a deployment does: told to stop, killed when it has ended, and started again. */
  drain(place: number): void {
    const replica = this.#replicas[place]
    if (!replica) return
    void replica.drain.shutdown('deployment').then(async () => {
      await replica.journal.close()
      // What it has said reaches its callers before the process ends.
      await sleep(replica.process.clock, LAST_WORDS_MS)
      replica.process.die()
    })
  }

  #start(place: number): void {
    const world = this.#world
    const { fate, timeline, conditions } = world
    const name = `seller${place}.${++this.#starts}`
    const process = new Process(name, timeline, skewOf(world, `seller${place}`))
    world.origin.open(process)
    const journal = world.journals.open(process, `seller${place}`)
    const reader = algorandPaymentReader()
    const around = {
      clock: process.clock,
      random: seededRandom(`${world.seed}/${name}`),
      exchange: (base: string) => {
        const { host } = new URL(base)
        if (host === NODE_HOST) return world.node.exchangeFor(process)
        return (host === BACKUP_HOST ? world.backup : world.facilitator).exchangeFor(process)
      },
      paymentReader: async () => reader,
      audit: (settings: ServerSettings, inFlight: () => number) => {
        const audit = auditOf(settings, inFlight)
        return { ...audit, callObservers: [...audit.callObservers, journal] }
      },
      registry: () => undefined,
    }
    const drain = createDrain(SHUTDOWN_MS, process.clock)
    const terms = termsAfter(conditions, this.#isNew)
    const stores = this.#stores.of(process)
    const options = optionsOf(world, process, stores, this.#isNew)
    const clientAddress = (request: Request) => request.headers.get('x-address') ?? undefined
    const hostOf = (of: '' | 'sister/'): Host => {
      const sold: Sold[] = []
      const whole = agentOf(world, process, this.payTo, terms, of, each => sold.push(each))
      const isGated = conditions.mount === 'gate'
      const made = () => {
        const agent = isGated ? gatedAgent(whole) : whole
        const settings = { ...settingsOf(agent, options), clientAddress }
        const { table, sell } = assemble(settings, drain, around)
        const host = koaHost(table, settings.logger, turns())
        const aside = { clientAddress, logger: settings.logger, clock: process.clock }
        const { answer: answerFetch, handle: fetch } = fetchHost(table, aside)
        const parts = { sell, host, fetch, koa: () => host.middleware, answerFetch }
        return {
          app: host.app,
          fetch,
          gate: [sold, parts as unknown as Parts, settings, agent.endpoints as never] as const,
        }
      }
      // Two hosts of one agent: a gate sells a route in one of them.
      if (isGated) return { listener: gatedKoa(...made().gate), fetch: gatedFetch(...made().gate) }
      const { app, fetch } = made()
      return { listener: conditions.mount === 'app' ? mountedIn(app) : app.callback(), fetch }
    }
    const sister = conditions.agents === 'two' ? hostOf('sister/') : undefined
    this.#replicas[place] = { process, drain, journal, seller: hostOf(''), sister }
    world.mortal(process)
    process.onDeath(() => {
      this.#replicas[place] = undefined
      const afterMs = fate.dice(`${name}.restart`).span(RESTART_MIN_MS, RESTART_MAX_MS)
      timeline.after(afterMs, () => this.#start(place))
    })
  }
}

function optionsOf(
  world: World,
  process: Process,
  stores: ServerOptions['stores'],
  isNew: boolean,
): ServerOptions {
  const { confirm, creditStart, timeouts, perMinute, deploy, mount } = world.conditions
  const { onLostResponse: before, backup: quoted, isInProcess } = world.conditions
  const onLostResponse = isNew && deploy === 'mode' ? NEXT_MODE[before ?? 'none'] : before
  const isOther = isNew && deploy === 'facilitators'
  const backup = isOther && quoted === 'none' && !isInProcess ? 'honest' : quoted
  const first = 'https://facilitator.example'
  return {
    // The other version of a seller with one in its processes asks one elsewhere, of the same sponsor.
    ...(isInProcess && !isOther
      ? { facilitator: ownFacilitator(world, process) }
      : { facilitatorUrl: backup === 'none' ? first : [first, `https://${BACKUP_HOST}`] }),
    algodUrl: `https://${NODE_HOST}`,
    ...(mount === 'base path' && { basePath: prefixOf(mount) }),
    confirm,
    stores: { ...stores, runs: world.truth.runs },
    ...(onLostResponse && {
      idempotency: {
        onLostResponse,
        windowMs: KEPT_MS,
        maxAnswerBytes: ANSWER_BYTES_MAX,
      },
    }),
    advanced: { timeouts, credit: creditStart !== undefined && { start: creditStart } },
    ...(perMinute !== undefined && { rateLimit: { perMinute } }),
    logger: world.logger,
  }
}

/** Longer than any episode. */
const KEPT_MS = 24 * 3_600_000
/** Of a deploy that changes the mode. */
const NEXT_MODE = { none: 'release', release: 'replay', replay: 'release' } as const
