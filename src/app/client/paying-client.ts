/** The paying client: it asks, reads the price, checks it against its limits, signs exactly that price, and calls again. */
import type { Manifest } from '../../domain/manifest.js'
import { usdNumber, usdToBaseUnits } from '../../domain/money.js'
import { refuseUnknown } from '../../domain/option-checks.js'
import { priceOf } from '../../domain/price-for-display.js'
import { unlessAborted } from '../../ports/clock.js'
import { type CallOptions, type RequestOptions, requestOf, urlOf } from './build-request.js'
import { balanceUrl, buyBalance, type TopUpOptions } from './buy-balance.js'
import { type CallOutcome, type CallRequest, type ManyOptions, manyCalls } from './call-many.js'
import { buyWindow, callPaid, type Estimate, estimateCall, quoteCall } from './call-paid.js'
import type { Balance } from './check-before-signing.js'
import { noSigner } from './client-errors.js'
import type { Settings } from './client-options.js'
import { discover } from './fetch-manifest.js'
import { type PayingFetch, payingFetch } from './paying-fetch.js'
import { type StreamOptions, type StreamResult, streamOf, watchOf } from './read-streamed-answer.js'
import type { Receipts } from './receipt-book.js'
import {
  type ActiveSubscription,
  type AgentBalance,
  type CallResult,
  type QuoteResult,
  resultOf,
  type SubscribeResult,
  type TopUpResult,
} from './result-types.js'

/** All of {@link SvcClient} but its options: the simulation makes clients over settings of its own. */
export abstract class PayingClient {
  // Private, so that neither JSON nor an inspection of the client shows a key.
  readonly #settings: Settings
  /** The standard `fetch`, which pays what is asked for within the limits: see {@link PayingFetch}. It needs no `this`. */
  readonly fetch: PayingFetch

  protected constructor(settings: Settings) {
    this.#settings = settings
    this.fetch = payingFetch(settings)
  }

  /** The paying address; `undefined` without a key. */
  get address(): string | undefined {
    return this.#settings.signer?.address
  }

  /**
   * USD counted in the last 24 hours: paid, being paid, or possibly paid. A payment that was sent counts whatever its
   * seller answered, until the chain proves that it cannot land. The chain is asked where a call needs the room.
   */
  get spentToday(): number {
    return usdNumber(this.#settings.limits.spent)
  }

  /** USD left under `maxPerDay`; Infinity without it. */
  get remainingToday(): number {
    const { remaining } = this.#settings.limits
    return remaining === undefined ? Number.POSITIVE_INFINITY : usdNumber(remaining)
  }

  /** The subscription windows whose keys this client holds, without those that have ended. */
  get activeSubscriptions(): ActiveSubscription[] {
    return this.#settings.keys.list()
  }

  /** The payments that this client has sent, as they stand. */
  get receipts(): Receipts {
    return this.#settings.receipts
  }

  /**
   * What an endpoint asks for. Needs no key, pays nothing. An endpoint that asks for no payment does its work.
   *
   * @throws SvcError `invalid_url`, `invalid_request`, `network_error`, `aborted`
   */
  async quote(url: string | URL, body?: unknown, options: RequestOptions = {}): Promise<QuoteResult> {
    return quoteCall(requestOf(url, body, options), this.#settings)
  }

  /**
   * What `call` would pay, and whether the limits allow that. Needs no key, pays nothing. As with `quote`, an endpoint
   * that asks for no payment does its work.
   *
   * @example
   * const { usd, refusal } = await client.estimate('https://agent.example/summarize', { text })
   * if (refusal) console.log(`would not be paid: ${refusal.message}`)
   *
   * @throws SvcError `invalid_url`, `invalid_request`, `invalid_price`, `network_error`, `aborted`; `call_failed` where the call would
   * fail before any payment
   */
  async estimate(
    url: string | URL,
    body?: unknown,
    options: RequestOptions & Pick<CallOptions, 'maxPrice'> = {},
  ): Promise<Estimate> {
    return estimateCall(requestOf(url, body, options), this.#settings)
  }

  /**
   * Calls an endpoint, and pays where it asks to be paid: once, at the price that was checked.
   *
   * @param url Absolute, http or https.
   * @param body Sent as JSON; leave it out for a GET, whose input is in the query.
   * @param options How it is sent.
   * @typeParam T The type that the caller expects of `data`; it is not checked.
   *
   * @example
   * const { data, payment } = await client.call('https://agent.example/summarize', { text }, { maxPrice: '$0.02' })
   *
   * @throws SvcError `no_signer`, `price_above_max`, `daily_cap_reached`, `unreadable_quote`, `subscription_refused`,
   * `network_error`, `call_failed`, and those that the guide to errors lists. `detail.charged` says whether a payment that was sent was charged.
   */
  async call<T = unknown>(
    url: string | URL,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<CallResult<T>> {
    const outcome = await callPaid(requestOf(url, body, options), this.#settings)
    const cost = await outcome.cost?.().catch(() => undefined)
    return resultOf({ ...outcome, balance: { ...outcome.balance, ...cost } })
  }

  /**
   * As `call`, up to the head of the answer. Then the body is handed over as it comes, without a limit of its size. Any
   * other success than a stream is handed over, too. A failure is read whole, and thrown as `call` throws it. A stream that ends before its end throws `stream_broken` to its reader. It was charged, and is not repeated.
   *
   * @example
   * const { events, payment } = await client.stream('https://agent.example/tell', { about: 'whales' })
   * for await (const { data } of events()) console.log(data)
   *
   * @throws SvcError as `call`; its reader `stream_broken`, `aborted`, and those of {@link StreamResult.events}
   */
  async stream(url: string | URL, body?: unknown, options: StreamOptions = {}): Promise<StreamResult> {
    const request = requestOf(url, body, options)
    const settings = { ...this.#settings, exchange: this.#settings.openExchange }
    const watch = watchOf(request, options, settings)
    return streamOf(await callPaid(request, settings), watch)
  }

  /**
   * Many calls, a few at a time; outcomes in the order of the requests. One that fails stops no other.
   *
   * @example
   * const outcomes = await client.callMany(texts.map(text => ({ url, body: { text } })), { concurrency: 4 })
   * for (const outcome of outcomes) console.log(outcome.ok ? outcome.result.data : outcome.error.message)
   *
   * @throws SvcError `invalid_options`
   */
  callMany<T = unknown>(
    requests: Iterable<CallRequest>,
    options: ManyOptions = {},
  ): Promise<CallOutcome<T>[]> {
    return manyCalls(requests, options, ({ url, body, ...call }) => this.call<T>(url, body, call))
  }

  /**
   * Buys a subscription window and keeps its key for later calls of the same endpoint. Where another call of this client is buying
   * one, it waits for that one and calls with its key.
   *
   * @example
   * const { expiresAt } = await client.subscribe('https://agent.example/feed')
   * await client.call('https://agent.example/feed') // covered by the key until expiresAt
   *
   * @throws SvcError as `call`; `not_a_subscription` where the quote is for no window, and nothing was paid, or where no key was
   * issued: then `detail.charged` is `yes` if this call was paid.
   */
  async subscribe<T = unknown>(
    url: string | URL,
    body?: unknown,
    options: Omit<CallOptions, 'quote'> = {},
  ): Promise<SubscribeResult<T>> {
    const outcome = await buyWindow(requestOf(url, body, options), this.#settings)
    return { ...resultOf<T>(outcome), ...outcome.subscription }
  }

  /**
   * Takes over a key that was bought elsewhere: calls of this endpoint send it instead of paying.
   *
   * @param url The endpoint.
   * @param key The key that its seller sent in `x-svc-subscription`.
   * @param expiresAt Milliseconds since the epoch, a date, or ISO text. Before it, a key that is refused is not paid for again.
   *
   * @throws SvcError `invalid_url`, `invalid_subscription`
   */
  useSubscription(url: string | URL, key: string, expiresAt?: Date | string | number): void {
    this.#settings.keys.hold(urlOf(url), { key, expiresAt })
  }

  /** Forgets the key of this endpoint: the next call pays again. @throws SvcError `invalid_url` */
  dropSubscription(url: string | URL): void {
    this.#settings.keys.drop(urlOf(url))
  }

  /**
   * Buys a balance at an agent: calls of its endpoints then take from it what they cost, each at most its quote and `maxPrice`. The amount
   * is this purchase's own limit, within `maxPerDay`, which counts the purchase and not the calls.
   *
   * @example
   * await client.topUp('https://agent.example', '$5')
   * const { data, charged, left } = await client.call('https://agent.example/summarize', { text })
   *
   * @throws SvcError as `call`; `not_a_balance`, `balance_busy`
   */
  async topUp(agentUrl: string | URL, amount: string, options: TopUpOptions = {}): Promise<TopUpResult> {
    return (await buyBalance(balanceUrl(urlOf(agentUrl)), usdToBaseUnits(amount), options, this.#settings))!
  }

  /** The balances that are held, without their keys, as the ledger has them. */
  async balances(): Promise<AgentBalance[]> {
    await this.#settings.balances.read()
    return this.#settings.balances.list()
  }

  /**
   * The manifest of the agent at this base URL, or at the manifest's own. Costs nothing. It is the agent's claim: see {@link verifyManifest}.
   *
   * @example
   * const { endpoints } = await client.discover('https://agent.example')
   * for (const { url, price } of endpoints) console.log(url, price)
   *
   * @throws SvcError `invalid_url`, `network_error`, `call_failed`, `invalid_manifest`
   */
  async discover(baseUrl: string | URL, options: Pick<RequestOptions, 'signal'> = {}): Promise<Manifest> {
    refuseUnknown(options, ['signal'])
    return discover(urlOf(baseUrl), options, this.#settings)
  }

  /**
   * The wallet's balance: what the paying account holds, read from the node.
   *
   * @param options A `signal` that ends the waiting.
   *
   * @throws SvcError `no_signer`, `node_unavailable`, `aborted`
   */
  async balance(options: Pick<RequestOptions, 'signal'> = {}): Promise<Balance> {
    refuseUnknown(options, ['signal'])
    const { address } = this
    if (address === undefined) throw noSigner('A balance')
    return unlessAborted(this.#settings.wallet(address), options.signal, 'Reading the balance was aborted')
  }

  /** The function {@link priceOf}, as a method that knows this client's network. */
  priceOf(requirements: unknown): number | null {
    return priceOf(requirements, this.#settings.network.given)
  }
}
