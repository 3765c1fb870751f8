/**
 * What the chain says of strangers' accounts and transactions, read from a node and an indexer. Nothing is guessed: a
 * node that does not answer is thrown as `OutOfReach`, and the caller of a paid endpoint is not charged.
 */
import {
  type AccountState,
  type AssetHolding,
  algodClient,
} from '../../../src/adapters/algorand/algod-and-indexer.js'
import {
  bigintIn,
  INDEXER_TOKEN_HEADER,
  nodeClient,
  unavailable,
} from '../../../src/adapters/algorand/ask-node.js'
import { SvcError } from '../../../src/domain/errors.js'
import { type PublicNetwork, USDC_ASSET_ID } from '../../../src/domain/network.js'
import { isRecord } from '../../../src/domain/x402.js'
import { type IndexedTransaction, PAYMENT_NOTE_PREFIX, readIndexed } from './indexed-transaction.js'

export interface ChainReader {
  readonly network: PublicNetwork
  account(address: string): Promise<AccountState>
  /** `undefined` where the account has not opted in to USDC. */
  usdc(address: string): Promise<AssetHolding | undefined>
  transaction(txId: string): Promise<Looked>
  /** The transactions of one round that share a group. */
  group(groupId: string, round: bigint): Promise<Listed>
  /** Transfers of USDC to this address whose note says that they are x402 payments. */
  paymentsTo(address: string): Promise<Listed>
  close(): Promise<void>
}

export interface Looked {
  readonly transaction?: IndexedTransaction
  /** Up to here the indexer knows everything. */
  readonly currentRound: bigint
  /** Where the node knows it as landed, and the indexer not yet. */
  readonly landedRound?: bigint
}

export interface Listed {
  readonly transactions: readonly IndexedTransaction[]
  /** Whether these are all. */
  readonly complete: boolean
}

export interface ChainReaderOptions {
  readonly network: PublicNetwork
  readonly algodUrl: string
  readonly indexerUrl: string
}

/** Indexers search where nodes look up. */
const INDEXER_TIMEOUT_MS = 8_000
const PAGE_LIMIT = 1_000
const PAGES_MAX = 5

export function chainReader({ network, algodUrl, indexerUrl }: ChainReaderOptions): ChainReader {
  const algod = algodClient({ url: algodUrl })
  const indexer = nodeClient({ url: indexerUrl, nodeTimeoutMs: INDEXER_TIMEOUT_MS }, INDEXER_TOKEN_HEADER)
  const assetId = USDC_ASSET_ID[network]

  async function page(query: Readonly<Record<string, string>>) {
    const body = await indexer.get(`/v2/transactions?${new URLSearchParams(query)}`)
    const { transactions, 'next-token': next } = body
    if (!Array.isArray(transactions) || !transactions.every(isRecord)) {
      throw unavailable('transactions is no list')
    }
    const currentRound = bigintIn(body, 'current-round')
    return { transactions: transactions.map(readIndexed), next, currentRound }
  }

  async function search(query: Readonly<Record<string, string>>): Promise<Listed> {
    const found: IndexedTransaction[] = []
    let next: unknown
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const more: Record<string, string> = typeof next === 'string' ? { next } : {}
      const read = await page({ ...query, ...more, limit: String(PAGE_LIMIT) })
      found.push(...read.transactions)
      next = read.next
      // There is a token with every page that is not empty, so it says nothing about another.
      if (read.transactions.length < PAGE_LIMIT || typeof next !== 'string') {
        return { transactions: found, complete: true }
      }
    }
    return { transactions: found, complete: false }
  }

  return toldOutOfReach({
    network,
    account: algod.account,
    usdc: address => algod.assetHolding(address, assetId),
    async transaction(txId) {
      const { transactions, currentRound } = await page({ txid: txId })
      const transaction = transactions.find(({ id }) => id === txId)
      if (transaction) return { transaction, currentRound }
      const landedRound = await algod.confirmedRound(txId)
      return { currentRound, ...(landedRound !== undefined && { landedRound }) }
    },
    async group(groupId, round) {
      const { transactions, complete } = await search({ round: String(round) })
      return { transactions: transactions.filter(({ group }) => group === groupId), complete }
    },
    paymentsTo: address =>
      search({
        address,
        'address-role': 'receiver',
        'asset-id': String(assetId),
        'tx-type': 'axfer',
        'note-prefix': Buffer.from(PAYMENT_NOTE_PREFIX).toString('base64'),
      }),
    close: async () => void (await Promise.all([algod.close(), indexer.close()])),
  })
}

/** Thrown where the work could not be done, and asking again later may help. The caller is not charged. */
export class OutOfReach extends SvcError {
  constructor(message: string) {
    super(message, 'out_of_reach', 503)
  }
}

/** The same chain, whose silence callers are told of; how its node failed is for the log. */
function toldOutOfReach(chain: ChainReader): ChainReader {
  const told =
    <Asked extends unknown[], Answer>(ask: (...asked: Asked) => Promise<Answer>) =>
    async (...asked: Asked): Promise<Answer> => {
      try {
        return await ask(...asked)
      } catch (cause) {
        const message = `The node and the indexer of ${chain.network} cannot be read now; ask again later`
        throw Object.assign(new OutOfReach(message), { cause })
      }
    }
  return {
    ...chain,
    account: told(chain.account),
    usdc: told(chain.usdc),
    transaction: told(chain.transaction),
    group: told(chain.group),
    paymentsTo: told(chain.paymentsTo),
  }
}
