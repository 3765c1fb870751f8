/**
 * The standard `fetch`: it asks as the caller's own would, and buys a quote as `call` does. Libraries repeat a request whose answer was
 * lost, and know nothing of its payment: where its end is in doubt, the same request sends the same payment and key for a while.
 */
import { globalFetch, sha512_256 } from '#platform'
import { toBase64 } from '../../domain/bytes.js'
import { SdkError, SvcError } from '../../domain/errors.js'
import { IDEMPOTENCY_KEY_HEADER } from '../../domain/idempotency-key.js'
import { BALANCE_KEY_HEADER } from '../../domain/x402.js'
import { type Clock, unlessAborted, withTimeout } from '../../ports/clock.js'
import { readWebBody } from '../../ports/exchange.js'
import { SUBSCRIPTION_HEADER } from './bought-subscription.js'
import { fieldsOf, type HttpRequest, hasPayment } from './build-request.js'
import { callPaid } from './call-paid.js'
import { callFailed } from './client-errors.js'
import type { Settings } from './client-options.js'
import { exchangeOver, type HttpReply, headOf, isSuccess, openReply, wholeReply } from './http-reply.js'
import type { Asking, PaymentSlot } from './purchase.js'
import { isQuote } from './read-quote.js'
import { streamOf, watchOf } from './read-streamed-answer.js'
import { type CallPayment, type CallResult, toldOf } from './result-types.js'
import { ask, type UnpaidReply } from './send-with-retries.js'

/** What a request by `fetch` paid, or sent. */
export interface FetchPayment extends CallPayment {
  /** Only where the answer is a failure: the seller says that the payment was not charged. It counts against `maxPerDay` all the same. */
  readonly charged?: 'no'
  /** Beside `charged`: the last round in which the payment can land. */
  readonly lastValid?: number
}

/** A `Response`, and what was paid for it. The fields beside the standard ones are absent where nothing was paid. */
export interface PaidResponse extends Response, Partial<Omit<CallResult, 'data' | 'payment' | 'status'>> {
  /** The payment that was signed and accepted; for a replay, the first payment. */
  readonly payment?: FetchPayment
}

/**
 * `fetch` as the standard says, that pays a 402 as `call` does: once, within the caps. An answer that is no quote is returned as it came,
 * also 4xx and 5xx, and so is a 402 that this client cannot pay. The body is read as it comes.
 *
 * @example
 * const response = await client.fetch('https://agent.example/items/1', { method: 'PUT', body: 'new text' })
 * console.log(response.status, response.payment?.usd)
 *
 * @throws TypeError as `fetch` does, before anything was paid. SvcError as `call` does, where a quote is not paid or the end of its
 * payment is not known; `body_too_large` for a request of more than 16 MiB. The body's reader gets `stream_broken` and `aborted`.
 */
export type PayingFetch = (input: string | URL | Request, init?: RequestInit) => Promise<PaidResponse>

const REQUEST_BYTES_MAX = 16 * 1024 * 1024
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304])

export function payingFetch(settings: Settings): PayingFetch {
  const unfinished = unfinishedCalls(settings.clock)
  return async (input, init) => {
    const given = input instanceof Request ? input : undefined
    // The signal of a new Request would no longer fire once that request is collected.
    const asked = new Request(input, { ...init, signal: null })
    const signal = (init?.signal === undefined ? given?.signal : init.signal) ?? undefined
    const send: typeof fetch = (url, own) =>
      (settings.fetchImpl ?? globalFetch)(url, { ...(given && setupOf(given)), ...init, ...own })
    const { request, slot } = unfinished.take(await requestFrom(asked, init?.body, signal))
    const asFetch = ({ url, method, headers, body: bytes }: HttpRequest) => {
      // Node 20 cannot send bytes again where it follows a redirect.
      const body = bytes instanceof Uint8Array ? new Blob([bytes as Uint8Array<ArrayBuffer>]) : bytes
      return send(url.href, { method, headers, body, redirect: asked.redirect, signal })
    }
    if (!/^https?:$/.test(request.url.protocol) || hasPayment(asked.headers)) return asFetch(request)

    let passed: { readonly reply: HttpReply; readonly response: Response } | undefined
    let last: HttpReply | undefined
    const open = exchangeOver(send, settings.clock, openReply)
    const buying: Settings = {
      ...settings,
      async exchange(sent, timeoutMs) {
        const result = await open(sent, timeoutMs)
        last = result.kind === 'answered' ? result.reply : undefined
        return result
      },
    }
    const again = slot.idempotencyKey
    const asking: Asking = {
      slot,
      // A call in a window or on a balance may be counted, so it is repeated under its key, and follows no redirect with it.
      async ask(deps, sent) {
        if (BALANCE_KEY_HEADER in sent.headers) return ask(deps, sent)
        if (SUBSCRIPTION_HEADER in sent.headers) {
          slot.idempotencyKey = sent.headers[IDEMPOTENCY_KEY_HEADER]
          const answered = await ask(deps, sent)
          if (isSuccess(answered.reply) || !(answered.everLost || again)) slot.idempotencyKey = undefined
          return answered
        }
        const response = await asFetch(sent)
        const head = headOf(response)
        const whole = () => withTimeout(settings.clock, settings.timeoutMs, wholeReply(response))
        const reply = isQuote(head) ? await whole() : head
        passed = { reply, response }
        last = reply
        return { request: sent, reply, attempts: 1, everLost: false }
      },
      accept: answered => (answered.reply === passed?.reply ? answered : followedNowhere(answered)),
    }
    let isPaid = false
    try {
      const headers = { ...(again && { [IDEMPOTENCY_KEY_HEADER]: again }), ...request.headers }
      const outcome = await callPaid({ ...request, headers }, buying, asking)
      if (outcome.reply === passed?.reply) return passed.response
      isPaid = [outcome.payment, outcome.sentTxId, outcome.balance].some(paid => paid !== undefined)
      const { status: _, ...told } = toldOf(outcome)
      const { reply } = outcome
      const body = reply.body ? streamOf(outcome, watchOf(request, {}, settings)).body : reply.bytes
      return responseOf(asked.url, reply, body, told)
    } catch (error) {
      if (!(error instanceof SvcError) || !last || last.oversized) throw error
      if (isUnpayable(error)) return responseOf(asked.url, last, last.bytes, {})
      const payment = unchargedIn(error)
      isPaid = payment !== undefined
      if (!payment || last.status === 402 || last.status !== error.status) throw error
      return responseOf(asked.url, last, last.bytes, { payment })
    } finally {
      if (!isPaid) unfinished.keep(request, slot)
    }
  }
}

async function requestFrom(
  asked: Request,
  given: RequestInit['body'],
  signal: AbortSignal | undefined,
): Promise<HttpRequest> {
  const { method, headers } = asked
  const url = new URL(asked.url)
  // Firefox has no `body` in a request, and no bodies that are streams.
  const bytes = async () =>
    asked.body ? readWebBody(asked.body, REQUEST_BYTES_MAX) : new Uint8Array(await asked.arrayBuffer())
  const reading = typeof given === 'string' ? given : bytes()
  const aborted = `The call to ${url.origin} was aborted; nothing was sent`
  const body = await unlessAborted(Promise.resolve(reading), signal, aborted)
  if (body === undefined || body.length > REQUEST_BYTES_MAX) {
    const message = `A body of more than ${REQUEST_BYTES_MAX} bytes cannot be sent again; nothing was sent`
    throw new SdkError(message, 'body_too_large')
  }
  return { url, method, headers: fieldsOf(headers), ...(body.length > 0 && { body }), signal }
}

/** What a request says beside its message. A runtime leaves out what it does not have, and refuses to be given it. */
function setupOf({ cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy }: Request) {
  const setup = { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy }
  return Object.fromEntries(Object.entries(setup).filter(([, value]) => value !== undefined))
}

/** @throws SvcError `call_failed` for a redirect: the key of a window is for the address that was asked. */
function followedNowhere(answered: UnpaidReply): UnpaidReply {
  const { reply, request } = answered
  if (reply.location === undefined && !reply.oversized) return answered
  throw callFailed(request.url.origin, reply)
}

/** A 402 that is no x402 quote, or quotes only what this client cannot pay: other versions, networks, schemes. */
function isUnpayable({ code, detail }: SvcError): boolean {
  return code === 'unreadable_quote' || (code === 'no_signer' && detail === undefined)
}

function unchargedIn({ detail }: SvcError): FetchPayment | undefined {
  const { charged, txId, amount, lastValid } = (detail ?? {}) as FetchPayment
  return charged === 'no' ? { txId, amount, charged, lastValid } : undefined
}

function responseOf(
  url: string,
  { status, headers }: HttpReply,
  body: ReadableStream<Uint8Array> | Uint8Array,
  told: Partial<PaidResponse>,
): PaidResponse {
  const content = NO_BODY.has(status) ? null : (body as ConstructorParameters<typeof Response>[0])
  // A status above is read from servers, and cannot be made.
  const response = new Response(content, { status: Math.min(status, 599), headers })
  Object.defineProperties(response, { url: { value: url }, status: { value: status } })
  return Object.assign(response, told)
}

const KEPT_MS = 10 * 60_000
const KEPT_MAX = 1_000
/** From the first time that it is kept: a request that is made every minute would send a payment for ever that can land no more. */
type KeptSlot = PaymentSlot & { untilMs?: number }
/** What libraries change when they repeat a request. */
const CHANGES = /^(x-stainless-|trace|baggage$|sentry-|x-b3-|b3$|x-request-id$|x-amzn-trace-id$)/

/** A form gets a new boundary each time that it is sent. */
const BOUNDARY = /^multipart\/.*boundary="?([^";]{16,})/i

/** Calls whose end is not known, by their requests. Each is given to one request at a time; a form is sent again with its first bytes. */
function unfinishedCalls(clock: Pick<Clock, 'monotonic'>) {
  let kept: { name: string; slot: KeptSlot; form?: HttpRequest | undefined }[] = []
  return {
    take(request: HttpRequest): { readonly request: HttpRequest; readonly slot: KeptSlot } {
      if (kept.length === 0) return { request, slot: {} }
      const name = nameOf(request)
      kept = kept.filter(({ slot: { untilMs = 0 } }) => clock.monotonic() < untilMs)
      const found = kept.find(each => each.name === name)
      kept = kept.filter(each => each !== found)
      return { request: { ...(found?.form ?? request), signal: request.signal }, slot: found?.slot ?? {} }
    },
    keep(request: HttpRequest, slot: KeptSlot): void {
      if (!slot.payment && slot.idempotencyKey === undefined) return
      slot.untilMs ??= clock.monotonic() + KEPT_MS
      const form = boundaryIn(request) === undefined ? undefined : request
      kept = [...kept, { name: nameOf(request), slot, form }].slice(-KEPT_MAX)
    },
  }
}

function boundaryIn({ headers }: HttpRequest): string | undefined {
  return BOUNDARY.exec(headers['content-type'] ?? '')?.[1]
}

/** The same for requests that ask for the same in the same caller's name. */
function nameOf(request: HttpRequest): string {
  const { method, url, headers, body = '' } = request
  const boundary = boundaryIn(request)
  const plain = (text: string) => (boundary === undefined ? text : text.replaceAll(boundary, ''))
  // Each byte is another character.
  const text = plain(typeof body === 'string' ? body : new TextDecoder('latin1').decode(body))
  const fields = Object.entries(headers).filter(([field]) => !CHANGES.test(field))
  const named = [method, url.href, toBase64(sha512_256(new TextEncoder().encode(text)))]
  return plain(JSON.stringify([...named, fields]))
}
