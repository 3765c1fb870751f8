/**
 * The parts of algod's and of the indexer's REST APIs that we use. A response that is late, too large or malformed throws
 * `node_unavailable`: a caller must not take a missing response for "not there".
 *
 * @see https://developer.algorand.org/docs/rest-apis/algod/
 * @see https://developer.algorand.org/docs/rest-apis/indexer/
 */
import { loadOnce } from '../../domain/load-once.js'
import { isRecord } from '../../domain/x402.js'
import {
  bigintIn,
  INDEXER_TOKEN_HEADER,
  type NodeClient,
  type NodeOptions,
  nodeClient,
  textIn,
  uint64In,
  unavailable,
} from './ask-node.js'

export interface Algod {
  suggestedParams(): Promise<SuggestedParams>
  lastRound(): Promise<bigint>
  /** The round that a transaction landed in. `undefined` proves nothing: this node does not know of one. */
  confirmedRound(txId: string): Promise<bigint | undefined>
  blockTxIds(round: bigint): Promise<readonly string[]>
  account(address: string): Promise<AccountState>
  /** Base units held; `undefined` where the account has not opted in to the asset. */
  assetHolding(address: string, assetId: number): Promise<AssetHolding | undefined>
  close(): Promise<void>
}

export interface SuggestedParams {
  readonly lastRound: bigint
  readonly minFeeMicroAlgos: bigint
  /** Above zero only while the network is congested. */
  readonly feePerByteMicroAlgos: bigint
  readonly genesisHash: string
  readonly genesisId: string
}

export interface AccountState {
  /** 0 for an account that does not exist: the ledger does not tell the two apart. */
  readonly microAlgos: bigint
  /** What the account must keep; more with every asset it holds. */
  readonly minBalanceMicroAlgos: bigint
}

export interface AssetHolding {
  readonly amount: bigint
  readonly frozen: boolean
}

export function algodClient(options: NodeOptions): Algod {
  return algodOver(nodeClient(options))
}

export function algodOver(node: NodeClient): Algod {
  return {
    async suggestedParams() {
      const body = await node.get('/v2/transactions/params')
      return {
        lastRound: bigintIn(body, 'last-round'),
        minFeeMicroAlgos: bigintIn(body, 'min-fee'),
        feePerByteMicroAlgos: body.fee === undefined ? 0n : bigintIn(body, 'fee'),
        genesisHash: textIn(body, 'genesis-hash'),
        genesisId: textIn(body, 'genesis-id'),
      }
    },
    lastRound: async () => bigintIn(await node.get('/v2/status'), 'last-round'),
    async confirmedRound(txId) {
      const body = await node.find(`/v2/transactions/pending/${encodeURIComponent(txId)}?format=json`)
      const round = body?.['confirmed-round']
      return round === undefined || round === 0 ? undefined : bigintIn(body!, 'confirmed-round')
    },
    async blockTxIds(round) {
      const body = await node.get(`/v2/blocks/${round}/txids`)
      const ids = body.blockTxids
      // An empty block may leave the list out; any other value is malformed.
      if (ids === undefined || ids === null) return []
      if (!Array.isArray(ids) || !ids.every(id => typeof id === 'string'))
        throw unavailable('blockTxids is no list')
      return ids
    },
    async account(address) {
      // A node refuses to list every asset of a large account; the balance is enough here.
      const body = await node.get(`/v2/accounts/${encodeURIComponent(address)}?exclude=all`)
      return { microAlgos: uint64In(body, 'amount'), minBalanceMicroAlgos: uint64In(body, 'min-balance') }
    },
    async assetHolding(address, assetId) {
      const body = await node.find(`/v2/accounts/${encodeURIComponent(address)}/assets/${assetId}`)
      if (!body || body['asset-holding'] === undefined) return undefined
      const holding = body['asset-holding']
      if (!isRecord(holding)) throw unavailable('asset-holding is no object')
      return { amount: uint64In(holding, 'amount'), frozen: holding['is-frozen'] === true }
    },
    close: () => node.close(),
  }
}

/** It answers for a validity too wide to be read block by block. */
export interface Indexer {
  /** Whether the indexer has the transaction, and the last round that it has indexed. */
  find(txId: string): Promise<{ found: boolean; currentRound: bigint }>
  close(): Promise<void>
}

export function indexerClient(options: NodeOptions): Indexer {
  const node = nodeClient(options, INDEXER_TOKEN_HEADER)
  return {
    async find(txId) {
      const body = await node.get(`/v2/transactions?txid=${encodeURIComponent(txId)}`)
      const { transactions } = body
      if (!Array.isArray(transactions)) throw unavailable('transactions is no list')
      const found = transactions.some(transaction => isRecord(transaction) && transaction.id === txId)
      return { found, currentRound: bigintIn(body, 'current-round') }
    },
    close: () => node.close(),
  }
}

/** Asks the node once for all payments of a few seconds. A failure is not cached: the next payment asks again. */
export function cachedParams(
  algod: Pick<Algod, 'suggestedParams'>,
  maxAgeMs: number,
  monotonicMs: () => number,
): () => Promise<SuggestedParams> {
  const asking = () => loadOnce(() => algod.suggestedParams())
  let params = asking()
  let askedAtMs = Number.NEGATIVE_INFINITY
  return () => {
    if (monotonicMs() - askedAtMs >= maxAgeMs) [params, askedAtMs] = [asking(), monotonicMs()]
    return params()
  }
}
