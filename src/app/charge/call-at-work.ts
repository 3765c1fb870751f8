/**
 * The record of one call, in parts: each is made at birth with all of its fields, so that all calls have one shape, and says which
 * effects write it. It lives as long as the walk.
 */
import { problemOf } from '../../domain/answer-codes.js'
import type { Answer, StreamSource } from '../../domain/handler.js'
import { ownTarget } from '../../domain/path-pattern.js'
import type { PaymentPayload, PaymentRequirements } from '../../domain/x402.js'
import type { EndedCall, LoggedEntry } from '../../ports/call-observer.js'
import type { ChargeRequest, Problem } from '../../ports/charge.js'
import type { Hold, Recorded } from '../../ports/charge-store.js'
import type { PaymentReader, ReadPayment } from '../../ports/payment-reader.js'
import type { ChargeDeps, EndpointEntry } from './charge-deps.js'
import type { StreamEnd } from './stream-from-handler.js'

export interface Call {
  readonly id: string
  readonly traceId: string
  readonly parentSpan: EndedCall['parentSpan']
  readonly startedMs: number
  readonly startedMonotonicMs: number
  /** With a target. Without its payment where the key of an open window covers the call, and without that key where it opens nothing. */
  request: ChargeRequest
  readonly endpoint: EndpointEntry
  /** The body, or the query of a GET, as the handler receives it. Written by `validate`. */
  input: unknown
  payment: PresentedPayment
  readonly holds: Holds
  readonly window: CallsWindow
  balance: CallsBalance | undefined
  readonly terms: CallTerms
  readonly handled: Handled
  readonly earlier: EarlierCall
  readonly end: CallEnd
}

export interface PresentedPayment {
  readonly payload: PaymentPayload | undefined
  /** The transaction that was read from it. */
  readonly read: ReadPayment | undefined
  /** The payer signed a proof for this very payment. Written by `open`. */
  isProven: boolean
  /** Where it cannot be read, `verify` and `settle` write what the facilitator says. */
  payer: string | undefined
  /** `recover` names the earlier call's, until that is decided. */
  txId: string | undefined
}

/** What the call holds in stores and counters: the closing gives it back. */
export interface Holds {
  /** The idempotency key, where keys count. Written by `open`. */
  key: string | undefined
  /** What this call asks the charge store for. Written by `open`. */
  owned: Owned | undefined
  /**
   * Whether it holds that. Written by `open` and `recover`; `unknown` by `record`, where the store did not answer what it did: then
   * it is given back in the background.
   */
  held: boolean | 'unknown'
  /** The payer whose credit the run took. Written by `credit`. */
  creditor: string | undefined
  /** Where `admit` counted the unverified payment. `verify` gives the count back. */
  countedUnder: string | undefined
}

export interface CallsWindow {
  /** The key that came beside a payment and opens nothing. Answers that the window covered may be kept under it. Written by `admit`. */
  endedKey: string | undefined
  /** The window that covers the call, and whether `entitle` took one of its counted calls from it. */
  used: { readonly id: string; readonly isCounted: boolean } | undefined
  /** What the window of the caller's key has after this call; `undefined` where it has no count, or it is unknown. */
  callsLeft: number | undefined
  sold: SoldWindow | undefined
}

/** The balance that is to pay for the call, in base units. */
export interface CallsBalance {
  readonly id: string
  /** The most that the call may cost, where the store has reserved it. Written by `open` and `entitle`. */
  reserved: number | undefined
  /** What other calls have reserved, where the balance does not suffice. */
  held?: number | undefined
  left: number | undefined
  /** What the handler says that the call cost; `undefined` for the price. */
  said: number | 'nonsense' | undefined
  charged: number | undefined
  /** Whether the store did not say that it counted. */
  isInDoubt: boolean
}

/** What is asked of the payer, and until when the payment may still settle. */
export interface CallTerms {
  /** Written by `price`. */
  requirements: PaymentRequirements | undefined
  /** The handler's deadline in milliseconds. Written by `verify`. */
  handlerMs: number
  /** The moment of the monotonic clock after which the payment cannot settle. Written by `verify`. */
  settleByMs: number
  /** When settling began, on the monotonic clock. Written by `settle`. */
  settlingSinceMs: number
}

/** What came of the handler. Written by `deliver` and `serve`. */
export interface Handled {
  answer: Answer | undefined
  /** The opened stream that the handler returned, until it has ended whole. */
  source: StreamSource | undefined
  /** Cancels the handler's signal, also while its stream leaves. */
  cancellation: { cancel(why: string): void } | undefined
  /** Resolves when the answer's stream has ended. Written by the closing. */
  streamEnd: Promise<StreamEnd> | undefined
  readonly logs: LoggedEntry[]
  /** The message of what the handler threw, for the seller alone. */
  thrown: string | undefined
}

/** The earlier call under this key or with this payment. */
export interface EarlierCall {
  /** What it recorded, where it stopped while settling. Written by `open`. */
  recorded: Recorded | undefined
  /** Its answer, which this caller gets. Written by `open` and `recover`. */
  replayed: ReplayedAnswer | undefined
}

/** What the outcome says besides the final state. Written by the effect that leads to the end. */
export interface CallEnd {
  problem: Problem | undefined
  /** Why the call ended with 402; the challenge's `error` repeats it. */
  refusal: string | undefined
  retryAfterMs: number | undefined
  /** The field in which the facilitator's settlement differs from the payment. Written by `settle`. */
  mismatch: string | undefined
}

/** What a call may hold, and what speaks for its caller. */
export interface Owned {
  readonly hold: Hold & Required<Pick<Hold, 'claim'>>
  /** Secrets for the kept answer: the first seals it, each may open it. */
  readonly seals: readonly string[]
  /** Neither a proof nor a secret speaks for the caller; `unlanded` where its payment does, which the node has not seen land. */
  readonly isBearer: boolean | 'unlanded'
  /** Stands for the caller's address; `undefined` where the address may open nothing. */
  readonly caller: string | undefined
  /** The payment's own name for its answer, where the claim has another. */
  readonly answerName: string | undefined
}

/** What a call is selling. */
export interface SoldWindow {
  readonly key: string
  readonly id: string
  readonly expiresAtMs: number
  readonly callsLeft?: number
  readonly units?: number
  /** Whether the first call, which `callsLeft` leaves out, is a stream. If its seller breaks it, the window has that call again. */
  readonly streams?: boolean
}

/** The part of a settled call that is kept, to be replayed to the caller that holds its key. */
export interface ReplayedAnswer {
  /** `undefined` where the answer was too large to keep, or its stream did not end. */
  readonly answer: Answer | undefined
  readonly txId: string | undefined
  readonly payer: string | undefined
  readonly amount: string
  readonly asset: string
  /** The network's id as the payer spelt it; absent where no payment was asked for. */
  readonly network?: string | undefined
  readonly window: Omit<SoldWindow, 'id'> | undefined
  readonly callsLeft?: number
  readonly charged?: number
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const NO_TRACE = '0'.repeat(32)

/** @param reader absent where the request has no payment to read */
export function newCall(
  deps: ChargeDeps,
  endpoint: EndpointEntry,
  request: ChargeRequest,
  reader: PaymentReader | undefined,
  balance?: CallsBalance,
): Call {
  const id = deps.random.uuid()
  const trace = callersTrace(request.headers.traceparent)
  const payload = request.payment.kind === 'read' ? request.payment.value : undefined
  return {
    id,
    // The hyphens are cut out by position: a global replacement takes as long as making the id.
    traceId:
      trace?.traceId ?? id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24),
    parentSpan: trace?.parentSpan,
    startedMs: deps.clock.now(),
    startedMonotonicMs: deps.clock.monotonic(),
    request: request.target === undefined ? { ...request, target: ownTarget(endpoint.def) } : request,
    endpoint,
    input: undefined,
    payment: presentedPayment(payload, payload && reader!.read(payload)),
    holds: { key: undefined, owned: undefined, held: false, creditor: undefined, countedUnder: undefined },
    balance,
    window: { endedKey: undefined, used: undefined, callsLeft: undefined, sold: undefined },
    terms: {
      requirements: undefined,
      handlerMs: endpoint.def.timeout,
      settleByMs: Number.POSITIVE_INFINITY,
      settlingSinceMs: 0,
    },
    handled: {
      answer: undefined,
      source: undefined,
      cancellation: undefined,
      streamEnd: undefined,
      logs: [],
      thrown: undefined,
    },
    earlier: { recorded: undefined, replayed: undefined },
    end: { problem: undefined, refusal: undefined, retryAfterMs: undefined, mismatch: undefined },
  }
}

export function presentedPayment(
  payload: PaymentPayload | undefined,
  read: ReadPayment | undefined,
): PresentedPayment {
  return { payload, read, isProven: false, payer: read?.payer, txId: read?.txId }
}

const STORE_RETRY_MS = 2_000

/** Without a store there is no call: a payment that cannot be held cannot be charged exactly once. */
export function storeDown(call: Call): 'storeDown' {
  call.end.retryAfterMs = STORE_RETRY_MS
  call.end.problem = problemOf('store_unavailable')
  return 'storeDown'
}

/** The random half of the call's own id. Making other random bytes took 7 % of a call in a window. */
export function spanIdOf({ id }: Call): string {
  return id.slice(19, 23) + id.slice(24)
}

function callersTrace(traceparent: string | undefined) {
  const match = TRACEPARENT.exec(traceparent ?? '')
  if (match === null || match[1] === NO_TRACE) return undefined
  const [, traceId, spanId, flags] = match
  return { traceId: traceId!, parentSpan: { id: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 } }
}
