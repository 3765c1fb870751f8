/**
 * What a caller is told of a handler's failure. An error's words are for the seller's log unless the handler chose them
 * for callers, and no words of a handler pass for this server's own about a payment.
 */
import type { Answer } from '../../domain/answer.js'
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import { isReservedCode } from '../../domain/reserved-codes.js'
import { isRecord } from '../../domain/x402.js'
import type { Problem } from '../../ports/charge.js'
import { MESSAGES } from './messages.js'

export interface ToldFailure {
  readonly problem: Problem
  /** What the handler chose and callers are not told, in words for the seller's log. */
  readonly withheld?: string
}

const UNCHOSEN: ToldFailure = { problem: { message: MESSAGES.failed } }

/**
 * An error is told where its `expose` is true: that of every `SvcError` is, of whichever copy of this package, and that
 * of http-errors where it was made for callers. Others carry a `status` and a `code` that say nothing of the sort: those
 * of the SDKs that handlers use name keys and accounts.
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

/** Another server's quote, or its words about a payment, passed on: here they would be read as ours. */
export function answeredFailure({ status, body }: Answer): ToldFailure | undefined {
  const answered = jsonObjectIn(body)
  const code = isRecord(answered?.error) ? answered.error.code : undefined
  const withheld =
    status === QUOTE_STATUS
      ? `status ${status}`
      : Array.isArray(answered?.accepts)
        ? 'a quote'
        : typeof code === 'string' && isReservedCode(code)
          ? `code ${code}`
          : undefined
  if (withheld === undefined) return undefined
  return { problem: { message: MESSAGES.failed, ...(isFailure(status) && { status }) }, withheld }
}

/** Says "pay this": clients pay on it, and only the charge machine may say it. */
const QUOTE_STATUS = OUTCOMES.quoted.status

/** Whether a handler may fail with this status; any other becomes that of `handler_error`. */
function isFailure(status: unknown): status is number {
  return (
    Number.isInteger(status) &&
    (status as number) >= 400 &&
    (status as number) <= 599 &&
    status !== QUOTE_STATUS
  )
}

/** Read as JSON whatever its type says, because clients do. */
function jsonObjectIn(body: string | Uint8Array): Record<string, unknown> | undefined {
  let value: unknown
  try {
    value = JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body))
  } catch {
    // It is not JSON.
  }
  return isRecord(value) ? value : undefined
}

/** `{ status: 404, error: … }` is data, answered with 200 and charged; who wrote it probably meant a failure. */
export function resemblesFailure(returned: unknown): boolean {
  if (typeof returned !== 'object' || returned === null) return false
  const { status } = returned as { status?: unknown }
  return typeof status === 'number' && status >= 400 && ('body' in returned || 'error' in returned)
}
