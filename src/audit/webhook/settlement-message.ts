/** The message of a settlement webhook. */
import { reportsCharge } from '../../domain/income-bookings.js'
import { formatUsd } from '../../domain/money.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { JournalHeader } from '../journal/journal-lines.js'

/** The body of a settlement webhook. Later versions may add fields, and types. */
export interface SettlementMessage {
  /** A payment landed: its call settled it, or a later call found that it had landed. */
  readonly type: 'call.settled'
  /**
   * The payment's transaction id, or the call's id where `txId` is null. The header `webhook-id` has it too. One payment is
   * one event. Two processes may report the same payment, so a receiver ignores an id that it has seen.
   */
  readonly id: string
  /** The id of the call that reports the payment, as in runs and logs. */
  readonly run: string
  /** The agent's handle, as in its journal. */
  readonly agent: string
  /** The network, as in the journal: such as `testnet`. */
  readonly network: string
  /** The name of the endpoint that was called. */
  readonly endpoint: string
  /**
   * The payment's transaction id; null where the payment has no readable transaction and the facilitator named none.
   */
  readonly txId: string | null
  /** Base units of the asset. */
  readonly amount: string
  /** The amount in dollars, such as `0.01`. */
  readonly usd: string
  /** The asset's id, in decimal. */
  readonly asset: string
  /** The payer; null where it is unknown. */
  readonly payer: string | null
  /** When the call ended, ISO 8601. */
  readonly at: string
  /** The answer was a stream, and the payer did not get all of it. */
  readonly streamBroken?: true
  /** Whose side broke the stream. */
  readonly brokenBy?: 'caller' | 'seller'
}

/** `undefined` for a call that reports no charge. */
export function settlementMessage(
  call: EndedCall,
  { agent, network }: Pick<JournalHeader, 'agent' | 'network'>,
): SettlementMessage | undefined {
  const { id, endpoint, txId, amount, asset, payer, startedMs, ms, streamBroken, brokenBy } = call
  if (!reportsCharge(call) || amount === undefined || asset === undefined) return undefined
  return {
    type: 'call.settled',
    id: txId ?? id,
    run: id,
    agent,
    network,
    endpoint,
    txId: txId ?? null,
    amount,
    usd: formatUsd(BigInt(amount)).slice(1),
    asset,
    payer: payer ?? null,
    at: new Date(startedMs + ms).toISOString(),
    ...(streamBroken && { streamBroken, brokenBy }),
  }
}
