/** The paying client: asks, is told the price, holds it against its limits, signs exactly that, and calls again. */
import { randomUUID } from 'node:crypto'
import { SvcError } from '../../domain/errors.js'
import type { Manifest } from '../../domain/manifest.js'
import { priceOf, usdNumber } from '../../domain/price-of.js'
import { dataOf } from './body.js'
import { manifestOf, manifestUrl } from './discover.js'
import type { Outgoing, Reply } from './exchange.js'
import { callFailed, networkError, noSigner } from './failures.js'
import { type ActiveSubscription, type KeyRing, keyRing, SUBSCRIPTION_HEADER, soldIn } from './key-ring.js'
import { type ClientOptions, type Settings, settingsOf } from './options.js'
import { type Purchase, purchase } from './purchase.js'
import { challengeOf } from './quote.js'
import { type CallOptions, IDEMPOTENCY_KEY_HEADER, type RequestOptions, requestOf, urlOf } from './request.js'
import { type CallResult, type Outcome, type QuoteResult, resultOf } from './results.js'
import { type Delivery, deliver } from './retry.js'
import { isSuccess } from './verdict.js'

/** A subscription that was just bought, and the answer of the call that bought it. */
export interface SubscribeResult<T = unknown> extends CallResult<T>, ActiveSubscription {}

/** A quote and a manifest are quick, or of no use. */
const FREE_ANSWER_TIMEOUT_MS = 30_000

/**
 * @example
 * const client = new SvcClient({ mnemonic: process.env.SVC_MNEMONIC, network: 'testnet', maxPrice: '$0.05' })
 * const { data, payment } = await client.call('https://agent.example/summarize', { text })
 */
export class SvcClient {
  // Private fields, so that neither JSON nor an inspection of the client shows a key.
  readonly #settings: Settings
  readonly #keys: KeyRing = keyRing()

  /** @throws SvcError `invalid_key`, `invalid_price`, `invalid_options` */
  constructor(options: ClientOptions = {}) {
    this.#settings = settingsOf(options)
  }

  /** The paying address; `undefined` without a key. */
  get address(): string | undefined {
    return this.#settings.signer?.address
  }

  /** USD counted in the last 24 hours: paid, being paid, or possibly paid. */
  get spentToday(): number {
    return usdNumber(this.#settings.purse.spent)
  }

  /** USD left under `maxPerDay`; Infinity without it. */
  get remainingToday(): number {
    const { remaining } = this.#settings.purse
    return remaining === undefined ? Number.POSITIVE_INFINITY : usdNumber(remaining)
  }

  get activeSubscriptions(): ActiveSubscription[] {
    return this.#keys.list()
  }

  /** What an endpoint asks for. Needs no key, pays nothing. @throws SvcError `network_error` */
  async quote(url: string | URL, body?: unknown, options: RequestOptions = {}): Promise<QuoteResult> {
    const timeoutMs = Math.min(this.#settings.timeoutMs, FREE_ANSWER_TIMEOUT_MS)
    const { reply } = await this.#ask(requestOf(url, body, options), options, timeoutMs)
    const { status } = reply
    if (status !== 402) return { paymentRequired: false, status }
    return { paymentRequired: true, status, requirements: challengeOf(reply) }
  }

  /**
   * Calls an endpoint, and pays where it asks to be paid: once, at the price that was checked.
   *
   * @throws SvcError `no_signer`, `price_above_max`, `daily_cap_reached`, `unreadable_quote`, `network_error`,
   * `call_failed`, and those listed in the documentation. `detail.charged` tells what became of a payment that was sent.
   */
  async call<T = unknown>(
    url: string | URL,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<CallResult<T>> {
    const request = requestOf(url, body, options)
    const key = this.#keys.keyFor(request.url)
    if (!this.#settings.signer && key === undefined) throw noSigner(request.url.origin)
    const held = key === undefined ? request : withKey(request, key)
    const asked = await this.#ask(held, options, this.#settings.timeoutMs)
    if (!isQuote(asked.reply)) return resultOf(succeeded(asked))
    if (key === undefined) return resultOf(await this.#buy(request, asked))
    this.#keys.drop(request.url, key)
    const bought = await this.#buy(request, asked)
    const message = `${request.url.origin} no longer accepts the subscription key`
    return resultOf(bought, [{ code: 'key_refused', message }])
  }

  /**
   * Buys a subscription window and keeps its key for later calls of the same endpoint.
   *
   * @throws SvcError as `call`; `not_a_subscription` where no key was issued, whether or not something was paid.
   */
  async subscribe<T = unknown>(
    url: string | URL,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<SubscribeResult<T>> {
    const request = requestOf(url, body, options)
    if (!this.#settings.signer) throw noSigner(request.url.origin)
    const asked = await this.#ask(request, options, this.#settings.timeoutMs)
    const isPaid = isQuote(asked.reply)
    const bought: Outcome = isPaid ? await this.#buy(request, asked) : succeeded(asked)
    const sold = isPaid ? soldIn(bought.reply.headers) : undefined
    if (!sold) throw notASubscription(request.url, bought)
    return { ...resultOf<T>(bought), ...this.#keys.hold(request.url, sold.key, sold.expiresAt) }
  }

  /** Takes over a key that was bought elsewhere; `expiresAt` in milliseconds, as a date, or as ISO text. */
  useSubscription(url: string | URL, key: string, expiresAt?: Date | string | number): void {
    this.#keys.hold(urlOf(url), key, expiresAt)
  }

  /** The manifest of the agent at this base URL. @throws SvcError `network_error`, `call_failed`, `invalid_manifest` */
  async discover(baseUrl: string | URL): Promise<Manifest> {
    const url = manifestUrl(urlOf(baseUrl))
    const timeoutMs = Math.min(this.#settings.timeoutMs, FREE_ANSWER_TIMEOUT_MS)
    const asked = await this.#ask(requestOf(url, undefined, { method: 'GET' }), { method: 'GET' }, timeoutMs)
    return manifestOf(succeeded(asked).reply, url)
  }

  /** USD of a challenge, of its `accepts`, or of one entry; `null` where none can be read. */
  priceOf(requirements: unknown): number | null {
    return priceOf(requirements)
  }

  async #ask(request: Outgoing, { method }: RequestOptions, timeoutMs: number): Promise<Asked> {
    const { exchange, retry } = this.#settings
    const asked = answered(request, await deliver(exchange, request, retry, timeoutMs))
    const { status, headers } = asked.reply
    if (status !== 405 || method !== undefined || request.body !== undefined) return asked
    if (!/\bGET\b/.test(headers.get('allow') ?? '')) return asked
    const get = { ...request, method: 'GET' }
    return answered(get, await deliver(exchange, get, retry, timeoutMs))
  }

  async #buy(request: Outgoing, asked: Asked): Promise<Purchase> {
    const { signer, exchange, retry, timeoutMs } = this.#settings
    if (!signer) throw noSigner(request.url.origin, challengeOf(asked.reply))
    const paid = { ...request, method: asked.request.method }
    const bought = await purchase(paid, asked.reply, {
      ...this.#settings,
      signer,
      deliver: outgoing => deliver(exchange, outgoing, retry, timeoutMs),
    })
    const sold = soldIn(bought.reply.headers)
    if (sold) this.#keys.hold(request.url, sold.key, sold.expiresAt)
    return bought
  }
}

interface Asked {
  readonly request: Outgoing
  readonly reply: Reply
  readonly attempts: number
}

function withKey(request: Outgoing, key: string): Outgoing {
  // A window is worth protecting too: a repeated attempt must not run the work twice.
  const headers = { [IDEMPOTENCY_KEY_HEADER]: randomUUID(), ...request.headers, [SUBSCRIPTION_HEADER]: key }
  return { ...request, headers }
}

/** A quote that was found behind a redirect, by a fetch that follows them, is somebody else's. */
function isQuote({ status, location }: Reply): boolean {
  return status === 402 && location === undefined
}

function succeeded(asked: Asked): Asked {
  const { request, reply } = asked
  if (isSuccess(reply) && !reply.oversized) return asked
  throw callFailed(request.url.origin, reply)
}

function notASubscription({ origin }: URL, { reply, payment }: Outcome): SvcError {
  const told = payment ? 'took a payment' : 'asked for no payment'
  const detail = { ...payment, data: dataOf(reply).data }
  return new SvcError(
    `${origin} ${told} and issued no subscription key`,
    'not_a_subscription',
    reply.status,
    detail,
  )
}

function answered(request: Outgoing, { reply, attempts, cause }: Delivery): Asked {
  if (!reply) throw networkError(request.url.origin, cause)
  return { request, reply, attempts }
}
