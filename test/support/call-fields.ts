/** The fields of a call by their names alone, whichever part they stand in, for tests of single effects. */
import type { Call } from '../../src/app/charge/call-at-work.js'

const PARTS = ['payment', 'holds', 'window', 'terms', 'handled', 'earlier', 'end'] as const
type Part = (typeof PARTS)[number]

export type CallFields = Partial<
  Omit<Call, Part> &
    Call['payment'] &
    Call['holds'] &
    Call['window'] &
    Call['terms'] &
    Call['handled'] &
    Call['earlier'] &
    Call['end']
>

const PLACES: { readonly [Field in keyof CallFields]?: Part } = Object.fromEntries(
  Object.entries({
    payment: ['payload', 'read', 'isProven', 'payer', 'txId'],
    holds: ['key', 'owned', 'held', 'creditor', 'countedUnder'],
    window: ['endedKey', 'used', 'callsLeft', 'sold'],
    terms: ['requirements', 'handlerMs', 'settleByMs', 'settlingSinceMs'],
    handled: ['answer', 'source', 'cancellation', 'streamEnd', 'logs', 'thrown'],
    earlier: ['recorded', 'replayed'],
    end: ['problem', 'refusal', 'retryAfterMs', 'mismatch'],
  } satisfies Record<Part, readonly (keyof CallFields)[]>).flatMap(([part, fields]) =>
    fields.map(field => [field, part]),
  ),
)

/** Sets these fields of a call. */
export function withFields(call: Call, fields: CallFields = {}): Call {
  for (const [name, value] of Object.entries(fields)) {
    const part = PLACES[name as keyof CallFields]
    Object.assign(part === undefined ? call : call[part], { [name]: value })
  }
  return call
}

/** All fields of a call, beside each other. */
export function fieldsOf(call: Call): CallFields {
  return Object.assign({}, call, ...PARTS.map(part => call[part]))
}

/** Parts without fields, for a call that is made up of a few. */
export function emptyCall(): Call {
  return Object.fromEntries(PARTS.map(part => [part, {}])) as unknown as Call
}
