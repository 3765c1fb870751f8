/** The error that replaces an answer that cannot be written: it always says how the call ended. */
import { type ChargeFinal, OUTCOMES } from './machines/charge.machine.js'

/** How a call ended, as far as the money is concerned. */
export interface Ended {
  readonly final: ChargeFinal
  readonly receipt?: { readonly txId: string }
  readonly problem?: { readonly fields?: Readonly<Record<string, unknown>> }
}

/** A delivered answer that cannot be written is 500 `answer_not_written`; any other end keeps its status and its code. */
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
  maybe: 'You may have been charged: look txId up, and do not pay again before that.',
} as const satisfies Record<(typeof OUTCOMES)[ChargeFinal]['charged'], string>
