/** A seller: one agent, served by replicas that come and go. */
import type { RequestListener } from 'node:http'
import { algorandPaymentReader } from '../../../src/adapters/algorand/read-payment.js'
import { koaHost } from '../../../src/adapters/http/koa-app.js'
import { assemble } from '../../../src/app/server/assemble.js'
import { createDrain, type Drain } from '../../../src/app/server/drain.js'
import type { ServerOptions } from '../../../src/app/server/server-options.js'
import { settingsOf } from '../../../src/app/server/settings-from-options.js'
import { auditOf } from '../../../src/audit/observe-calls.js'
import {
  type AgentDef,
  defineAgent,
  defineEndpoint,
  type HandlerContext,
  SvcError,
} from '../../../src/index.js'
import { sleep } from '../../../src/ports/timeouts-and-aborts.js'
import { seededRandom } from '../kernel/dice.js'
import { ConnectionLost } from '../kernel/network.js'
import { Process } from '../kernel/process.js'
import { keyOf } from './accounts.js'
import { ownStores, type StoresFor, sharedStores } from './stores.js'
import { type HangUp, received, type WireReply, type WireRequest } from './wire.js'
import type { World } from './world.js'

export const ORIGIN = 'https://seller.example'
export const ENDPOINTS = ['work', 'research', 'units', 'feed', 'tale'] as const
export type EndpointName = (typeof ENDPOINTS)[number]

/** What a handler is asked to do with its caller's money. */
export interface Work {
  readonly act: string
  readonly does: 'return' | 'throw' | 'refuse' | 'stall' | 'nothing' | 'redirect' | 'much'
  /** How long it takes. */
  readonly ms?: number
  readonly units?: number
  /** How the stream ends, where it is asked of the endpoint that sells streams. */
  readonly tale?: Tale
}

export interface Tale {
  readonly ends: 'whole' | 'break' | 'never'
  /** From its first event to its end. */
  readonly ms: number
}

const BACKUP_HOST = 'backup.example'
const NODE_HOST = 'node.example'
const SHUTDOWN_MS = 30_000
const RESTART_MIN_MS = 500
const RESTART_MAX_MS = 20_000
const LAST_WORDS_MS = 3_000

interface Replica {
  readonly process: Process
  readonly drain: Drain
  readonly listener: RequestListener
}

export class Seller {
  readonly payTo = keyOf('seller').address
  readonly #world: World
  readonly #storesFor: StoresFor
  readonly #replicas: (Replica | undefined)[] = []
  #starts = 0

  constructor(world: World) {
    this.#world = world
    this.#storesFor = world.conditions.store === 'redis' ? sharedStores(world) : ownStores(world)
    for (let place = 0; place < world.conditions.replicas; place++) this.#start(place)
  }

  /** Calls at work, in all replicas that live. */
  get inFlight(): number {
    return this.#replicas.reduce((sum, replica) => sum + (replica?.drain.count() ?? 0), 0)
  }

  /** How far the clock by which windows end is ahead of the simulation's: in memory, that of the one process. */
  get windowsSkewMs(): number {
    const [replica] = this.#replicas
    return this.#world.conditions.store === 'memory' && replica ? replica.process.skewMs : 0
  }

  /** To a replica that the balancer picks; `place` names the caller's link. */
  request(from: Process, place: string, request: WireRequest, hangUp: HangUp): Promise<WireReply> {
    const { fate, network, conditions } = this.#world
    const at = Math.floor(fate.fractionOf(fate.numbered(`${place}.balance`)) * this.#replicas.length)
    const replica = this.#replicas[at] ?? this.#replicas.find(each => each !== undefined)
    if (!replica) return Promise.reject(new ConnectionLost('ECONNREFUSED'))
    const { process, listener } = replica
    return network.ask(from, process, `${place}>seller`, conditions.links.http, () =>
      received(process, listener, request, hangUp),
    )
  }

  /** As a deployment does: told to stop, killed when it has ended, and started again. */
  drain(place: number): void {
    const replica = this.#replicas[place]
    if (!replica) return
    void replica.drain.shutdown('deployment').then(async () => {
      // What it has said reaches its callers before the process ends.
      await sleep(replica.process.clock, LAST_WORDS_MS)
      replica.process.die()
    })
  }

  #start(place: number): void {
    const world = this.#world
    const { fate, timeline, conditions } = world
    const name = `seller${place}.${++this.#starts}`
    const roll = fate.dice(`${name}.skew`)
    const process = new Process(name, timeline, {
      nowMs: roll.between(-conditions.skewMs, conditions.skewMs),
      upMs: roll.between(0, 1_000_000),
    })
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
      audit: auditOf,
      registry: () => undefined,
    }
    const drain = createDrain(SHUTDOWN_MS, process.clock)
    const settings = settingsOf(
      agentOf(world, process, this.payTo),
      optionsOf(world, this.#storesFor(process)),
    )
    const { app } = koaHost(assemble(settings, drain, around).table, settings.logger)
    this.#replicas[place] = { process, drain, listener: app.callback() }
    world.mortal(process)
    process.onDeath(() => {
      this.#replicas[place] = undefined
      const afterMs = fate.dice(`${name}.restart`).span(RESTART_MIN_MS, RESTART_MAX_MS)
      timeline.after(afterMs, () => this.#start(place))
    })
  }
}

function optionsOf(world: World, stores: ServerOptions['stores']): ServerOptions {
  const { onLostResponse, confirm, hasCredit, perMinute, backup } = world.conditions
  const first = 'https://facilitator.example'
  return {
    facilitatorUrl: backup === 'none' ? first : [first, `https://${BACKUP_HOST}`],
    algodUrl: `https://${NODE_HOST}`,
    confirm,
    stores: { ...stores, runs: world.truth.runs },
    ...(onLostResponse && {
      idempotency: {
        onLostResponse,
        windowMs: KEPT_MS,
        maxAnswerBytes: ANSWER_BYTES_MAX,
      },
    }),
    ...(!hasCredit && { advanced: { credit: false as const } }),
    ...(perMinute !== undefined && { rateLimit: { perMinute } }),
    logger: world.logger,
  }
}

/** Longer than any episode. */
const KEPT_MS = 24 * 3_600_000
const ANSWER_BYTES_MAX = 2_048
const HANDLER_TIMEOUT_MS = 30_000
const STREAM_TIMEOUT_MS = 60_000

/** An answer names its run, wherever it is read again. */
function answerOf(run: number, { act, does }: Work): unknown {
  const data = { run, act }
  if (does === 'much') return { ...data, much: 'x'.repeat(ANSWER_BYTES_MAX) }
  if (does !== 'redirect') return data
  const headers = { 'content-type': 'application/json', location: 'https://seller.example/elsewhere' }
  return new Response(JSON.stringify(data), { status: 303, headers })
}

/** Each event names the run, as an answer does. */
async function* told(process: Process, answer: unknown, tale: Tale): AsyncGenerator<unknown> {
  yield answer
  await sleep(process.clock, tale.ms)
  if (tale.ends === 'break') throw new Error('the tale breaks')
  if (tale.ends === 'never') await new Promise(() => {})
  yield answer
}

function agentOf(world: World, process: Process, payTo: string): AgentDef {
  const handler = (endpoint: EndpointName) => async (context: HandlerContext) => {
    const work = context.body as Work
    const run = world.truth.runBegins(endpoint, work, context)
    if (work.ms !== undefined) await sleep(process.clock, work.ms)
    switch (work.does) {
      case 'throw':
        throw new Error('broken')
      case 'refuse':
        throw new SvcError('not today', 'not_today', 422)
      case 'nothing':
        return undefined
      case 'stall':
        return new Promise(() => {})
      case 'return':
      case 'redirect':
      case 'much':
        world.truth.runReturns(run)
        return endpoint === 'tale' && work.tale && work.does !== 'redirect'
          ? told(process, answerOf(run.id, work), work.tale)
          : answerOf(run.id, work)
    }
  }
  const timeout = HANDLER_TIMEOUT_MS
  const calls = world.conditions.windowCalls
  return defineAgent({
    name: 'Simulated',
    handle: 'simulated',
    description: 'Sells what is asked for.',
    network: 'testnet',
    payTo,
    endpoints: [
      defineEndpoint({ name: 'work', price: '$0.01', timeout, handler: handler('work') }),
      defineEndpoint({ name: 'research', price: '$0.05', timeout, handler: handler('research') }),
      defineEndpoint({
        name: 'units',
        price: ({ body }: { body: unknown }) => `$0.00${(body as Work).units ?? 1}`,
        priceHint: '$0.001 a unit',
        timeout,
        handler: handler('units'),
      }),
      defineEndpoint({
        name: 'tale',
        price: '$0.01',
        stream: true,
        streamTimeout: STREAM_TIMEOUT_MS,
        timeout,
        handler: handler('tale'),
      }),
      defineEndpoint({
        name: 'feed',
        subscription: { price: '$0.03', period: '2h', ...(calls !== undefined && { calls }) },
        timeout,
        handler: handler('feed'),
      }),
    ],
  })
}
