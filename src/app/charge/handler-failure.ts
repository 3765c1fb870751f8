/**
 * What the answer says about a handler's failure. The caller reads an error's message only if the handler chose it
 * for callers; otherwise the message goes to the seller's log. A handler's message must not look like this server's
 * own statement about a payment.
 */
import { CALL_CODES } from '../../domain/answer-codes.js'
import type { Answer } from '../../domain/handler.js'
import { jsonIn } from '../../domain/json.js'
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import { memberAt } from '../../domain/x402.js'
import type { Problem } from '../../ports/charge.js'
import { MESSAGES } from './call-outcome.js'

export interface ToldFailure {
  readonly problem: Problem
  /** The part of the handler's choice that is not sent to callers, in words for the seller's log. */
  readonly withheld?: string
}

const UNCHOSEN: ToldFailure = { problem: { message: MESSAGES.failed } }

/**
 * Callers read an error where its `expose` is true: this holds for every `SvcError`, from any copy of this package,
 * and for errors that http-errors made for callers. Other errors may have a `status` and a `code` that were not
 * chosen for callers: those of SDKs that handlers use name keys and accounts.
 */
export function thrownFailure(cause: unknown): ToldFailure {
  if (typeof cause !== 'object' || cause === null) return UNCHOSEN
  const { expose, status, statusCode, code, message } = cause as Record<string, unknown>
  if (expose !== true) return UNCHOSEN
  const asked = status ?? statusCode
  const withheld = [
    ...(asked === undefined || isFailure(asked) ? [] : [`status ${String(asked)}`]),
    ...(typeof code === 'string' && isReservedCode(code) ? [`code ${code}`] : []),
  ]
  return {
    problem: {
      message: typeof message === 'string' && message !== '' ? message : MESSAGES.failed,
      ...(isFailure(asked) && { status: asked }),
      ...(typeof code === 'string' && code !== '' && !isReservedCode(code) && { code }),
    },
    ...(withheld.length > 0 && { withheld: withheld.join(' and ') }),
  }
}

/**
 * The handler passed on another server's quote, or that server's statement about a payment. Callers of this server
 * would read it as this server's own.
 */
export function answeredFailure({ status, body }: Answer): ToldFailure | undefined {
  // As JSON whatever its content type is, and however deep: clients read it so.
  const answered = jsonIn(typeof body === 'string' ? body : new TextDecoder().decode(body), Infinity)
  const code = memberAt(answered, 'error', 'code')
  const withheld =
    status === QUOTE_STATUS
      ? `status ${status}`
      : Array.isArray(memberAt(answered, 'accepts'))
        ? 'a quote'
        : typeof code === 'string' && isReservedCode(code)
          ? `code ${code}`
          : undefined
  if (withheld === undefined) return undefined
  return { problem: { message: MESSAGES.failed, ...(isFailure(status) && { status }) }, withheld }
}

/** Means "pay this": clients pay when they read it, and only the charge machine may send it. */
const QUOTE_STATUS = OUTCOMES.quoted.status

/** Whether a handler may fail with this status. Any other status becomes that of `handler_error`. */
function isFailure(status: unknown): status is number {
  return (
    Number.isInteger(status) &&
    (status as number) >= 400 &&
    (status as number) <= 599 &&
    status !== QUOTE_STATUS
  )
}

/** `{ status: 404, error: … }` is data: it is answered with 200 and charged. The handler's author probably meant a failure. */
export function resemblesFailure(returned: unknown): boolean {
  if (typeof returned !== 'object' || returned === null) return false
  const { status } = returned as { status?: unknown }
  return typeof status === 'number' && status >= 400 && ('body' in returned || 'error' in returned)
}

/** All codes about payments, keys and proofs begin like this, also codes of later versions. */
const FAMILY = /^(?:payment|settlement|idempotency|facilitator|answer|charge|invalid_siwx)_/

/** Callers would believe that `payment_spent` from a handler is about the payment. */
export function isReservedCode(code: string): boolean {
  return code !== OUTCOMES.failed.code && (CALL_CODES.some(row => row.code === code) || FAMILY.test(code))
}
