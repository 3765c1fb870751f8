import type { Answer, Handler } from '../domain/handler.js'
import type { ChargeFinal } from '../domain/machines/charge.machine.js'
import type { Target } from '../domain/path-pattern.js'
import type { PayerProof } from '../domain/sign-in-with-x.js'
import type { Path } from '../domain/state-machine/run-machine.js'
import type { Parsed, PaymentPayload, PaymentRequired, Receipt } from '../domain/x402.js'

/**
 * What every transport calls: one request in, one outcome out. It walks the charge machine, and has closed what the
 * call held before it answers. An error that an effect throws becomes an outcome, not a rejection. It rejects only
 * for an endpoint that does not exist, which is a bug of the transport.
 */
export interface Charge {
  call(endpoint: string, request: ChargeRequest): Promise<ChargeOutcome>
}

export interface ChargeRequest {
  /** Absent where the transport knows no paths: the endpoint's first method, at its own path. */
  readonly target?: Target | undefined
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: Parsed<unknown>
  readonly payment: Parsed<PaymentPayload>
  /** The payer's proof that the payment in this request is its own. Absent where the transport carries none. */
  readonly proof?: Parsed<PayerProof>
  readonly subscriptionKey?: string
  /** The key of a balance that is to pay for the call. */
  readonly balanceKey?: string
  /** The most that the call may take from the balance, in base units, as it was sent. */
  readonly maxCharge?: string
  readonly idempotencyKey?: string
  /**
   * The id of the task that this call is the work of; only its caller knows it. It is the call's idempotency key unless
   * the payment has an id, also where keys do not count. The answer is kept as with `onLostResponse: 'replay'`: no other
   * payment can buy the task again.
   */
  readonly task?: string
  /** Absolute URL of the agent as this caller reaches it, without a trailing slash. The challenge's resource is under it. */
  readonly baseUrl: string
  /** The address that the request came from, as far as the transport can trust it; else {@link NO_ADDRESS}. */
  readonly clientAddress: string
  readonly caller: Caller
  /** Whether the transport can send an answer as it comes. Otherwise a stream is collected before the charge. */
  readonly streams?: boolean
  /** Does the work of this very request, in place of the endpoint's handler: a route of the app around. */
  readonly handler?: Handler | undefined
  /** Called once, when the call is paid for or covered by a window and its handler is about to start. */
  onPaid?(): void
}

/** The `clientAddress` of every caller whose address the host does not say. */
export const NO_ADDRESS = 'unknown'

export interface Caller {
  /** Whether the caller has hung up. */
  gone(): boolean
  /** Calls back once if the caller hangs up. Returns a function that stops listening. */
  onGone(listener: () => void): () => void
  /** Calls back once: `true` when the answer has reached the socket, `false` when it cannot reach it any more. */
  onEnd(listener: (arrived: boolean) => void): void
  /** Calls back once, at the end: `false` where this server could not send the answer. Absent where that is known at once. */
  onSent?(listener: (sent: boolean) => void): void
}

export interface ChargeOutcome {
  readonly final: ChargeFinal
  readonly path: Path
  readonly traceId: string
  /** 16 hexadecimal digits; identifies this call alone. */
  readonly spanId: string
  /** The handler's answer: for settled, served and replayed calls, and for a failure that the handler answered itself. */
  readonly answer?: Answer
  /** Why there is no answer. */
  readonly problem?: Problem
  /** For 402: the challenge to pay. */
  readonly challenge?: Challenge
  readonly receipt?: Receipt
  /** What was sold: the key of a window, or of a balance of so many base units. */
  readonly subscription?: { readonly key: string; readonly expiresAtMs: number; readonly units?: number }
  /** The balance that the caller named. */
  readonly balance?: BalanceTold
  /**
   * How many calls are left of the window that was sold, or whose key came with the request, where it counts them. Of a
   * replay: as the first answer said.
   */
  readonly callsLeft?: number
  readonly retryAfterMs?: number
}

/** What a caller is told of its balance. All amounts are base units. */
export interface BalanceTold {
  /** Its public name: who knows it cannot use it. */
  readonly id: string
  /** What the call took from it; absent where it took nothing, or a stream has not ended. */
  readonly charged?: number
  /** The most that a stream which has not ended may take; where the balance does not suffice, what other calls may. */
  readonly reserved?: number
  /** What is left: after a call, all that is not used; where the balance does not suffice, what another call could take. */
  readonly left?: number
}

export interface Challenge {
  readonly required: PaymentRequired
  /** The same challenge, encoded for the header. */
  readonly header: string
}

/** Replaces the final state's own message, where a call knows more. `fields` are added to the error body. */
export interface Problem {
  readonly message: string
  readonly status?: number
  readonly code?: string
  readonly fields?: Readonly<Record<string, unknown>>
}

/** The header `Retry-After`: a whole second at least. */
export function retryAfterSeconds(retryAfterMs: number): string {
  return String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))
}

/** What A2A and MCP say beside an answer or an error: of the window or balance that the call bought or named. Empty where it did neither. */
export function endTold({
  subscription,
  callsLeft,
  balance,
}: Pick<ChargeOutcome, 'subscription' | 'callsLeft' | 'balance'>) {
  const sold = subscription && {
    key: subscription.key,
    expiresAt: new Date(subscription.expiresAtMs).toISOString(),
  }
  const units = subscription?.units
  const isWindow = sold !== undefined && units === undefined
  const { charged, left = units } = balance ?? {}
  return {
    ...((isWindow || callsLeft !== undefined) && {
      subscription: { ...(isWindow && sold), ...(callsLeft !== undefined && { remaining: callsLeft }) },
    }),
    ...((charged ?? left) !== undefined && {
      balance: { ...(!isWindow && sold), charged: charged?.toString(), left: left?.toString() },
    }),
  }
}
