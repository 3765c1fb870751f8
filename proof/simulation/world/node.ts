/** A node over the sandbox's ledger: behind by some rounds, each answer by itself, as behind a balancer. */

import {
  algodRoutes,
  BadRequest,
  type Exchange,
  type ExchangeReply,
  type Ledger,
  MAINNET,
  type OutgoingRequest,
  TESTNET,
  unavailable,
  withTimeout,
} from '../../../src/simulation-parts.js'
import { Process } from '../kernel/process.js'
import { exchangeThat, textOf } from './wire.js'
import type { World } from './world.js'

export class Node {
  readonly #world: World
  readonly #process: Process
  readonly #routes: ReturnType<typeof algodRoutes>
  #lag = 0n

  constructor(world: World) {
    this.#world = world
    this.#process = new Process('node', world.timeline)
    this.#routes = algodRoutes(this.#view(world.ledger))
  }

  exchangeFor(from: Process): Exchange {
    return exchangeThat(request => {
      if (from.name.startsWith('seller')) this.#world.questions.node(request.path)
      return this.#ask(from, `${from.name}>node`, request, this.#world.conditions.node.lagRounds)
    })
  }

  /** One node, which knows what it was given, and which processes of the seller submit to. */
  ownExchangeFor(from: Process): Exchange {
    return exchangeThat(request => this.#ask(from, `${from.name}>own node`, request, 0))
  }

  #ask(from: Process, place: string, request: OutgoingRequest, lagRounds: number): Promise<ExchangeReply> {
    const { network, conditions } = this.#world
    this.#world.point(from, place)
    const asked = network.ask(from, this.#process, place, conditions.links.node, () =>
      this.#serve(request, lagRounds),
    )
    return withTimeout(from.clock, request.timeoutMs, asked).catch((cause: Error) => ({
      failed: cause.message,
    }))
  }

  #view(ledger: Ledger): Ledger {
    const tip = () => ledger.rounds.current() - this.#lag
    return {
      ...ledger,
      rounds: { ...ledger.rounds, current: tip },
      landed: txId => {
        const found = ledger.landed(txId)
        return found && found.round <= tip() ? found : undefined
      },
      // Before the simulation began there were empty blocks.
      block: round => (round > tip() ? undefined : round < ledger.rounds.first ? [] : ledger.block(round)),
    }
  }

  async #serve(
    { method, path, body = '' }: OutgoingRequest,
    lagRounds: number,
  ): Promise<{ status: number; text: string }> {
    const { fate, timeline, conditions, facilitator } = this.#world
    const { errors, foreign } = conditions.node
    const name = fate.numbered('node')
    this.#lag = BigInt(
      fate.strike(`${name}.lag`, lagRounds > 0 ? 0.5 : 0, timeline.nowMs)?.between(1, lagRounds) ?? 0,
    )
    if (fate.strike(`${name}.error`, errors, timeline.nowMs))
      return { status: 500, text: '{"message":"down"}' }
    const isForeign = fate.strike(`${name}.foreign`, foreign, timeline.nowMs)
    const [bare = path] = path.split('?')
    const route = this.#routes.find(each => each.method === method && each.path.test(bare))
    if (path === '/v2/transactions' && facilitator.refusesNext) {
      facilitator.refusesNext = false
      return { status: 400, text: '{"message":"overspend"}' }
    }
    if (!route) throw unavailable(`no route ${path}`)
    try {
      const parts = (route.path.exec(bare) ?? []).slice(1).map(decodeURIComponent)
      const query = new URLSearchParams(path.slice(bare.length + 1))
      const reply = await route.handle({ query, body: Buffer.from(body as Uint8Array), parts })
      if ('raw' in reply) return { status: 500, text: '' }
      const text = textOf(reply.body)
      return {
        status: reply.status,
        text: isForeign ? text.replace(TESTNET.genesisHash, MAINNET.genesisHash) : text,
      }
    } catch (error) {
      if (error instanceof BadRequest)
        return { status: error.status, text: JSON.stringify({ message: error.message }) }
      throw error
    }
  }
}
