/** A landed transaction as an indexer shows it, read field by field. */
import { ZERO_ADDRESS } from '../../../src/adapters/algorand/address.js'
import { bigintIn, textIn, uint64In } from '../../../src/adapters/algorand/ask-node.js'
import { isRecord } from '../../../src/domain/x402.js'

/** How x402's software marks its transactions. Anybody can write these notes: they are a sign, never a proof. */
export const PAYMENT_NOTE_PREFIX = 'x402-payment-v'
export const SPONSOR_NOTE_PREFIX = 'x402-fee-payer-'

export interface IndexedTransaction {
  readonly id: string
  /** `axfer`, `pay`, `appl`, … */
  readonly type: string
  readonly sender: string
  readonly feeMicroAlgos: bigint
  readonly round: bigint
  /** Seconds since the epoch. */
  readonly roundTime: number
  /** As text; empty where there is none. */
  readonly note: string
  readonly group?: string
  readonly rekeyTo?: string
  readonly transfer?: Transfer
  readonly payment?: { readonly amount: bigint; readonly receiver: string; readonly closeTo?: string }
}

export interface Transfer {
  readonly assetId: bigint
  readonly amount: bigint
  readonly receiver: string
  readonly closeTo?: string
  /** Whose holding is taken from, where a clawback does it. */
  readonly clawedBackFrom?: string
}

/** @throws SvcError `node_unavailable` where it is no such thing. */
export function readIndexed(shown: Record<string, unknown>): IndexedTransaction {
  const { note, group, 'rekey-to': rekeyTo } = shown
  const transfer = shown['asset-transfer-transaction']
  const payment = shown['payment-transaction']
  return {
    id: textIn(shown, 'id'),
    type: textIn(shown, 'tx-type'),
    sender: textIn(shown, 'sender'),
    feeMicroAlgos: bigintIn(shown, 'fee'),
    round: bigintIn(shown, 'confirmed-round'),
    roundTime: Number(bigintIn(shown, 'round-time')),
    note: typeof note === 'string' ? Buffer.from(note, 'base64').toString('utf8') : '',
    ...(typeof group === 'string' && { group }),
    ...(typeof rekeyTo === 'string' && { rekeyTo }),
    ...(isRecord(transfer) && { transfer: transferIn(transfer) }),
    ...(isRecord(payment) && {
      payment: {
        amount: uint64In(payment, 'amount'),
        receiver: textIn(payment, 'receiver'),
        ...closeToIn(payment, 'close-remainder-to'),
      },
    }),
  }
}

function transferIn(transfer: Record<string, unknown>): Transfer {
  const { sender } = transfer
  return {
    assetId: bigintIn(transfer, 'asset-id'),
    amount: uint64In(transfer, 'amount'),
    receiver: textIn(transfer, 'receiver'),
    ...closeToIn(transfer, 'close-to'),
    ...(typeof sender === 'string' && sender !== ZERO_ADDRESS && { clawedBackFrom: sender }),
  }
}

function closeToIn(body: Record<string, unknown>, key: string): { closeTo?: string } {
  const closeTo = body[key]
  return typeof closeTo === 'string' ? { closeTo } : {}
}
