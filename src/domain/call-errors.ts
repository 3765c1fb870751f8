/** How the end of a call and of its payment is reported by codes. Callers, this package's client among them, act on them. */
import { CALL_CODES } from './answer-codes.js'
import { type ChargeFinal, OUTCOMES } from './machines/charge.machine.js'

/** How a call ended, as far as the money is concerned. */
export interface Ended {
  readonly final: ChargeFinal
  readonly receipt?: { readonly txId: string }
  readonly problem?: { readonly fields?: Readonly<Record<string, unknown>> }
}

/** The error instead of an answer that cannot be written: 500 for a delivered one; any other end keeps its status and its code. */
export function unwritten({ final, receipt, problem }: Ended) {
  const { kind, status, code, charged } = OUTCOMES[final]
  const txId = receipt?.txId || problem?.fields?.txId
  const delivered = kind === 'answer'
  return {
    status: delivered ? 500 : status,
    code: delivered ? 'answer_not_written' : code,
    message: `The call has ended (${code}), and its answer cannot be written. ${MONEY[charged]}`,
    fields: { outcome: code, charged, ...(txId !== undefined && { txId }) },
  }
}

const MONEY = {
  no: 'You were not charged.',
  yes: 'You were charged: look txId up, and do not pay again before that.',
  earlier: 'An earlier call was charged for it, and this one was not.',
  balance: 'It was taken from the balance: send the same request again with the same Idempotency-Key.',
  maybe: 'You may have been charged: look txId up, and do not pay again before that.',
} as const satisfies Record<(typeof OUTCOMES)[ChargeFinal]['charged'], string>

/** All codes about payments, keys and proofs begin like this, also codes of later versions. */
const FAMILY = /^(?:payment|settlement|idempotency|facilitator|answer|charge|invalid_siwx)_/

/** Callers would believe that `payment_spent` from a handler is about the payment. */
export function isReservedCode(code: string): boolean {
  return code !== OUTCOMES.failed.code && (CALL_CODES.some(row => row.code === code) || FAMILY.test(code))
}
