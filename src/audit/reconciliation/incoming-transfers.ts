/** The transfers to an account, read from an indexer. Audits use it, so it may be slow. */
import { ZERO_ADDRESS } from '../../adapters/algorand/address.js'
import {
  bigintIn,
  INDEXER_TOKEN_HEADER,
  type NodeOptions,
  nodeClient,
  textIn,
  uint64In,
  unavailable,
} from '../../adapters/algorand/ask-node.js'
import { fromBase64, textOf } from '../../domain/bytes.js'
import { isRecord } from '../../domain/x402.js'

/** If the chain does not answer, these reject: no answer is not an empty list. */
export interface IncomingTransfers {
  to(payTo: string, asset: string, period: Period): AsyncIterable<readonly Transfer[]>
  find(txId: string): Promise<Transfer | undefined>
  close(): Promise<void>
}

/** A period that includes its first moment and excludes its second. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

export interface Transfer {
  readonly txId: string
  readonly payer: string
  readonly receiver: string
  /** Decimal id; empty where the transaction moved no asset. */
  readonly asset: string
  readonly amount: bigint
  readonly landedMs: number
  /** As text; absent where it has none. Anybody can write anything into the note of their own transfer. */
  readonly note?: string
}

const PAGE = 1_000
const TIMEOUT_MS = 30_000

export function indexedTransfers(options: NodeOptions): IncomingTransfers {
  const node = nodeClient({ nodeTimeoutMs: TIMEOUT_MS, ...options }, INDEXER_TOKEN_HEADER)
  return {
    async *to(payTo, asset, { fromMs, toMs }) {
      const query = new URLSearchParams({
        address: payTo,
        'address-role': 'receiver',
        'tx-type': 'axfer',
        'asset-id': asset,
        'after-time': new Date(fromMs).toISOString(),
        'before-time': new Date(toMs).toISOString(),
        limit: String(PAGE),
      })
      for (let more = true; more; ) {
        const { transactions, 'next-token': next } = await node.get(`/v2/transactions?${query}`)
        if (!Array.isArray(transactions)) throw unavailable('transactions is no list')
        yield transactions.map(transferOf).filter(transfer => transfer.receiver === payTo)
        more = transactions.length > 0 && typeof next === 'string'
        if (more) query.set('next', next as string)
      }
    },
    async find(txId) {
      const body = await node.find(`/v2/transactions/${encodeURIComponent(txId)}`)
      return body && transferOf(body.transaction)
    },
    close: () => node.close(),
  }
}

/** What an indexer says that a transaction moved. In a clawback the payer is the account that lost the asset, not the sender. */
export function transferOf(transaction: unknown): Transfer {
  if (!isRecord(transaction)) throw unavailable('a transaction is no object')
  const transfer = transaction['asset-transfer-transaction']
  const landed = {
    txId: textIn(transaction, 'id'),
    payer: textIn(transaction, 'sender'),
    landedMs: Number(bigintIn(transaction, 'round-time')) * 1_000,
    ...(typeof transaction.note === 'string' && { note: textOf(fromBase64(transaction.note)) }),
  }
  if (!isRecord(transfer)) return { ...landed, receiver: '', asset: '', amount: 0n }
  const { sender } = transfer
  return {
    ...landed,
    // Some indexers name the zero address where a transfer is no clawback.
    ...(typeof sender === 'string' && sender !== ZERO_ADDRESS && { payer: sender }),
    receiver: textIn(transfer, 'receiver'),
    asset: bigintIn(transfer, 'asset-id').toString(),
    amount: uint64In(transfer, 'amount'),
  }
}
