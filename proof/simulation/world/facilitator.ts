/** A facilitator over the sandbox’s ledger and checks; the fate of each request decides how its answer goes wrong. */

import { CAIP2 } from '../../../src/client.js'
import {
  algorandPaymentReader,
  answerOf,
  createBazaarIndex,
  type Exchange,
  type ExchangeReply,
  type Fault,
  type FaultName,
  type FaultSource,
  facilitatorRoutes,
  json,
  type OutgoingRequest,
  type Reply,
  type Stage,
} from '../../../src/simulation-parts.js'
import { ConnectionLost } from '../kernel/network.js'
import { Process } from '../kernel/process.js'
import { keyOf } from './accounts.js'
import { exchangeThat, textOf } from './wire.js'
import type { World } from './world.js'

/** What it may do instead of answering truthfully. None of these says that something happened which did not. */
const TRUE_TROUBLE: Readonly<Record<Stage, readonly FaultName[]>> = {
  supported: ['500', '429', 'html', 'refuse'],
  verify: ['500', '429', 'html', 'redirect', 'refuse', 'string-true', 'one', 'other-payer'],
  settle: [
    '500',
    '429',
    'html',
    'redirect',
    'refuse',
    'string-true',
    'one',
    'die-before',
    'die-after',
    'late',
    'late',
    'late',
    'slow-before',
    'slow-before',
    'slow-before',
    'slow-after',
    'slow-after',
    'error-after',
    'pending',
    'other-tx',
    'other-payer',
    'other-network',
  ],
}

const LIES: Readonly<Record<Stage, readonly FaultName[]>> = {
  supported: [],
  verify: ['lie'],
  settle: ['lie'],
}

/** The longest that it takes: longer than a seller waits, and than a lease. */
const DELAY_MIN_MS = 200
const DELAY_MAX_MS = 60_000
const RESTART_MS = 4_000

export interface FacilitatorOptions {
  /** As it is called in the names of faults. */
  readonly name: 'facilitator' | 'backup'
  /** Whose account pays the fees. */
  readonly sponsor: string
  readonly isHostile: boolean
}

export class Facilitator {
  /** Says no to the next settlement, and does nothing. */
  refusesNext = false
  readonly #world: World
  readonly #options: FacilitatorOptions
  #process: Process
  #routes: ReturnType<typeof facilitatorRoutes> = []

  constructor(world: World, options: FacilitatorOptions) {
    this.#world = world
    this.#options = options
    this.#process = this.#begin()
  }

  /** How this process of a seller reaches it. */
  exchangeFor(from: Process): Exchange {
    return exchangeThat(request => this.#ask(from, request))
  }

  #begin(): Process {
    const { timeline, ledger } = this.#world
    const process = new Process(this.#options.name, timeline)
    this.#routes = facilitatorRoutes({
      ledger,
      sponsor: keyOf(this.#options.sponsor),
      bazaar: createBazaarIndex(process.clock.now),
      faults: { take: stage => this.#faultAt(stage) } as FaultSource,
      strangers: { address: keyOf('stranger').address, network: CAIP2.mainnet },
      clock: process.clock,
    })
    return process
  }

  #ask(from: Process, { method, path, body: sent = '', timeoutMs }: OutgoingRequest): Promise<ExchangeReply> {
    const body = Buffer.from(sent as Uint8Array)
    const { network, conditions, questions } = this.#world
    const { name } = this.#options
    const heard = path === '/supported' ? questions.own(from, name) : undefined
    if (path === '/verify') questions.verify(name, body)
    return new Promise(resolve => {
      const cancel = from.clock.after(timeoutMs, () =>
        resolve({ failed: `no answer within ${timeoutMs} ms` }),
      )
      const place = `${from.name}>${name}${path}`
      if (path === '/settle') this.#world.truth.settleSent(from.name, body)
      this.#world.point(from, place)
      network
        .ask(from, this.#process, place, conditions.links.facilitator, () => this.#serve(method, path, body))
        .catch((cause: Error) => ({ failed: cause.message }))
        .then(reply => {
          cancel()
          this.#world.point(from, `${place}<`)
          from.deliver(() => {
            const answer = answerOf(reply)
            heard?.('body' in answer && isNonEmpty(answer.body.kinds))
            resolve(reply)
          })
        })
    })
  }

  async #serve(method: string, path: string, body: Buffer): Promise<{ status: number; text: string }> {
    const { fate, timeline, conditions, truth } = this.#world
    const route = this.#routes.find(each => each.method === method && each.path.test(path))!
    const handle = () => {
      const lie = this.#options.isHostile && hostileAnswer(path, body)
      return lie || route.handle({ query: new URLSearchParams(), body, parts: [] })
    }
    if (path === '/settle') truth.settleAsked(body)
    if (
      fate.strike(fate.numbered(`${this.#options.name}.death`), conditions.facilitator.death, timeline.nowMs)
    ) {
      const after = fate.fractionOf(fate.numbered(`${this.#options.name}.death.after`)) < 0.5
      if (after) await handle()
      this.#process.die()
      this.refusesNext = false
      timeline.after(RESTART_MS, () => {
        this.#process = this.#begin()
      })
      throw new ConnectionLost('ECONNRESET')
    }
    const reply = await handle()
    return this.#worded(path, reply)
  }

  #worded(path: string, reply: Reply): { status: number; text: string } {
    const { fate, timeline, conditions } = this.#world
    if ('raw' in reply) throw new ConnectionLost('ECONNRESET')
    const contradicts =
      path === '/settle' &&
      conditions.facilitator.lies &&
      fate.strike(
        fate.numbered(`${this.#options.name}.contradicts`),
        conditions.facilitator.probability / 4,
        timeline.nowMs,
      )
    const said = contradicts
      ? (json(200, { success: false, errorReason: 'insufficient_funds', transaction: '' }) as typeof reply)
      : reply
    return { status: said.status, text: textOf(said.body) }
  }

  #faultAt(stage: Stage): Fault | undefined {
    const { fate, timeline, conditions } = this.#world
    if (stage === 'settle' && this.refusesNext) {
      this.refusesNext = false
      return { stage, behaviour: 'refuse', delayMs: 0, times: null }
    }
    const { probability, lies } = conditions.facilitator
    const dice = fate.strike(
      fate.numbered(`${this.#options.name}.${stage}.fault`),
      probability,
      timeline.nowMs,
    )
    if (!dice) return undefined
    const behaviour = dice.pick([...TRUE_TROUBLE[stage], ...(lies ? LIES[stage] : [])])
    return { stage, behaviour, delayMs: dice.span(DELAY_MIN_MS, DELAY_MAX_MS), times: null }
  }
}

function isNonEmpty(kinds: unknown): boolean {
  return Array.isArray(kinds) && kinds.length > 0
}

/** It says yes to every payment, and names the one that it was sent. */
function hostileAnswer(path: string, body: Buffer): Reply | undefined {
  if (path === '/verify') return json(200, { isValid: true })
  if (path !== '/settle') return undefined
  const { paymentPayload, paymentRequirements } = JSON.parse(body.toString('utf8'))
  const transaction = algorandPaymentReader().read(paymentPayload)?.txId ?? ''
  return json(200, { success: true, transaction, network: paymentRequirements.network })
}
