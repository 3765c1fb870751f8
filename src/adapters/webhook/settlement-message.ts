/** What a settlement webhook tells of a call. */
import type { EndedCall } from '../../ports/witness.js'

/** The body of a settlement webhook. Later versions may add fields, and types. */
export interface SettlementMessage {
  /** What happened. */
  readonly type: 'call.settled'
  /** The call's, as in runs and logs; also the message's `webhook-id`. */
  readonly id: string
  /** The name of the endpoint that was called. */
  readonly endpoint: string
  /**
   * The payment's transaction id; null where no transaction could be read in the payment, and the facilitator named
   * none.
   */
  readonly txId: string | null
  /** Base units of the asset. */
  readonly amount: string
  /** The asset's id, in decimal. */
  readonly asset: string
  /** Who paid; null where nobody could tell. */
  readonly payer: string | null
  /** When the call ended, ISO 8601. */
  readonly at: string
}

/** `undefined` for a call that settled nothing itself. */
export function settlementMessage(call: EndedCall): SettlementMessage | undefined {
  const { charged, id, endpoint, txId, amount, asset, payer, startedMs, ms } = call
  if (charged !== 'yes' || amount === undefined || asset === undefined) return undefined
  return {
    type: 'call.settled',
    id,
    endpoint,
    txId: txId ?? null,
    amount,
    asset,
    payer: payer ?? null,
    at: new Date(startedMs + ms).toISOString(),
  }
}
