/** Who buys: the real client over the simulated wire. */

import {
  type ByteSigner,
  type ClientOptions,
  memorySpendLedger,
  type SpendLedger,
} from '../../../src/client.js'
import {
  algodClient,
  algorandPaymentSigner,
  decodeAnswerHeader,
  PayingClient,
  type PaymentSigner,
  type Settings,
  settingsOver,
  TESTNET,
} from '../../../src/simulation-parts.js'
import { seededRandom } from '../kernel/dice.js'
import { Process } from '../kernel/process.js'
import { keyOf } from '../world/accounts.js'
import { skewOf } from '../world/clocks.js'
import { prefixOf } from '../world/mounts.js'
import { HangUp, type WireReply } from '../world/wire.js'
import type { World } from '../world/world.js'

/** Answers of a host that is not the seller's. */
export type Host = (url: URL, init: RequestInit) => Promise<Response>

export interface BuyerOptions extends ClientOptions {
  readonly hosts?: Readonly<Record<string, Host>>
}

class Client extends PayingClient {
  constructor(settings: Settings) {
    super(settings)
  }
}

export class Buyer {
  readonly name: string
  readonly address: string
  readonly process: Process
  readonly signer: PaymentSigner
  /** What signs with another key of this buyer's. */
  readonly signerFor: (key: ByteSigner) => PaymentSigner
  readonly client: PayingClient
  readonly ledger: SpendLedger
  /** The ids of the payments that each call sent, by its idempotency key. */
  readonly sent = new Map<string, Set<string>>()
  /** What requests are made for; names their links. */
  act = ''
  readonly #world: World

  constructor(world: World, name: string, { hosts = {}, ...options }: BuyerOptions = {}) {
    this.#world = world
    this.name = name
    this.address = `10.0.0.${1 + (name.charCodeAt(name.length - 1) % 200)}`
    this.process = new Process(name, world.timeline, skewOf(world, name))
    const { clock } = this.process
    const random = seededRandom(`${world.seed}/${name}`)
    const algod = algodClient({
      url: 'https://node.example',
      exchange: () => world.node.exchangeFor(this.process),
    })
    this.signerFor = key => algorandPaymentSigner({ key, network: TESTNET, algod, clock, random })
    this.signer = this.signerFor(keyOf(name))
    this.ledger = options.ledger ?? memorySpendLedger(clock)
    const fetchImpl = (url: string | URL | Request, init: RequestInit = {}) =>
      this.#fetch(new URL(String(url)), init, hosts)
    const surroundings = {
      network: TESTNET,
      algod,
      indexer: undefined,
      signer: this.signer,
      clock,
      random,
    } as const
    this.client = new Client(
      settingsOver(surroundings, { ...options, ledger: this.ledger, fetchImpl: fetchImpl as typeof fetch }),
    )
  }

  async #fetch(url: URL, init: RequestInit, hosts: Readonly<Record<string, Host>>): Promise<Response> {
    const hangUp = new HangUp()
    const aborted = new Promise<never>((_, reject) => {
      init.signal?.addEventListener('abort', () => {
        hangUp.now()
        reject(init.signal?.reason)
      })
    })
    const host = hosts[url.host]
    if (host) {
      this.#note(new Headers(init.headers as Record<string, string>))
      return Promise.race([host(url, init), aborted])
    }
    const headers = Object.fromEntries(
      Object.entries(init.headers as Record<string, string>).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]),
    )
    const request = {
      method: init.method ?? 'GET',
      target: url.pathname.slice(prefixOf(this.#world.conditions.mount).length) + url.search,
      host: url.host,
      headers,
      ...(typeof init.body === 'string' && { body: init.body }),
      address: this.address,
    }
    const asked = this.#world.http(this.process, this.act, request, { hangUp })
    return responseOf(await Promise.race([asked, aborted]))
  }

  #note(headers: Headers): void {
    const [key, payment] = ['idempotency-key', 'payment-signature'].map(name => headers.get(name))
    const txId = payment && this.#world.truth.readIn(decodeAnswerHeader(payment) ?? {})?.txId
    if (key && txId) this.sent.set(key, new Set(this.sent.get(key)).add(txId))
  }
}

export function responseOf({ status, headers, body }: WireReply): Response {
  return new Response(status === 204 || body === '' ? null : body, {
    status,
    headers: headers.map(pair => [...pair]),
  })
}
