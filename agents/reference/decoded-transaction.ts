/** A landed transaction as the reference agent tells it: what it moved, and who paid for that. */
import { formatUsd } from '../../src/domain/money.js'
import { type PublicNetwork, USDC_ASSET_ID } from '../../src/domain/network.js'
import type { Listed } from './chain/chain-reader.js'
import type { IndexedTransaction } from './chain/indexed-transaction.js'

export interface DecodedTransaction {
  readonly type: string
  readonly round: number
  readonly at: string
  readonly payer: string
  readonly receiver: string | null
  /** Base units. */
  readonly amount: string | null
  readonly asset: string | null
  readonly usd: string | null
  readonly note: string
  readonly group: DecodedGroup | null
  /** Who paid the network's fee; the payer where nobody sponsored it. */
  readonly feePayer: string | null
  readonly feeMicroAlgos: string
}

export interface DecodedGroup {
  readonly id: string
  /** `null` where the round was too large to be read whole. */
  readonly size: number | null
  readonly transactions: readonly string[]
}

/** A zero payment of the sponsor's to itself, which carries the fee of the group. */
export function sponsorOf(
  { id, feeMicroAlgos }: IndexedTransaction,
  group: Listed | undefined,
): IndexedTransaction | undefined {
  if (feeMicroAlgos > 0n) return undefined
  return group?.transactions.find(
    ({ id: other, sender, payment, rekeyTo }) =>
      other !== id &&
      rekeyTo === undefined &&
      payment?.amount === 0n &&
      payment.receiver === sender &&
      payment.closeTo === undefined,
  )
}

export function decodedTransaction(
  transaction: IndexedTransaction,
  group: Listed | undefined,
  sponsor: IndexedTransaction | undefined,
  network: PublicNetwork,
): DecodedTransaction {
  const { type, round, roundTime, sender, transfer, payment, note, feeMicroAlgos } = transaction
  const isUsdc = transfer?.assetId === BigInt(USDC_ASSET_ID[network])
  const amount = transfer?.amount ?? payment?.amount
  return {
    type,
    round: Number(round),
    at: new Date(roundTime * 1_000).toISOString(),
    payer: transfer?.clawedBackFrom ?? sender,
    receiver: transfer?.receiver ?? payment?.receiver ?? null,
    amount: amount === undefined ? null : String(amount),
    asset: transfer ? String(transfer.assetId) : null,
    usd: isUsdc ? formatUsd(transfer.amount) : null,
    note: note.slice(0, 1_000),
    group: group
      ? {
          id: transaction.group!,
          size: group.complete ? group.transactions.length : null,
          transactions: group.transactions.map(({ id }) => id),
        }
      : null,
    feePayer: sponsor?.sender ?? (feeMicroAlgos > 0n ? sender : null),
    feeMicroAlgos: String(sponsor?.feeMicroAlgos ?? feeMicroAlgos),
  }
}
