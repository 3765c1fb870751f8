/** Whether a transaction landed, and what it moved: what a node and an indexer know of it. */
import { transferOf } from '../adapters/algorand/incoming-transfers.js'
import {
  bigintIn,
  INDEXER_TOKEN_HEADER,
  type NodeOptions,
  nodeClient,
  textIn,
  uint64In,
} from '../adapters/algorand/node-response-reader.js'
import { SvcError } from '../domain/errors.js'
import { type NetworkFacts, otherThan } from '../domain/network.js'
import { isRecord } from '../domain/x402.js'
import type { Transfer } from '../ports/incoming-transfers.js'

export type Sighting =
  | { readonly state: 'landed'; readonly round: bigint; readonly moved?: Moved; readonly landedMs?: number }
  | { readonly state: 'pending'; readonly lastValid: bigint; readonly moved?: Moved }
  /** This node gave it up. Another node may still have it until its last valid round. */
  | { readonly state: 'dropped'; readonly why: string; readonly lastValid: bigint; readonly moved?: Moved }
  | { readonly state: 'unseen'; readonly nodeRound: bigint; readonly indexerRound?: bigint }

/** What a transfer of an asset moves. */
export type Moved = Pick<Transfer, 'payer' | 'receiver' | 'asset' | 'amount'>

/** Who is asked. */
export interface Witnesses {
  readonly network: NetworkFacts
  readonly algod: Pick<NodeOptions, 'url' | 'token'>
  readonly indexerUrl: string | undefined
}

/** @throws SvcError `node_unavailable`, `network_mismatch` */
export async function lookUp(txId: string, { network, algod, indexerUrl }: Witnesses): Promise<Sighting> {
  const node = nodeClient(algod)
  const indexer = indexerUrl === undefined ? undefined : nodeClient({ url: indexerUrl }, INDEXER_TOKEN_HEADER)
  try {
    const params = await node.get('/v2/transactions/params')
    const genesis = { genesisHash: textIn(params, 'genesis-hash'), genesisId: textIn(params, 'genesis-id') }
    const other = otherThan(network, genesis)
    if (other !== undefined)
      throw new SvcError(
        `The node is not on ${network.name} (${other}): give another --network`,
        'network_mismatch',
      )
    const reply = await node.ask(`/v2/transactions/pending/${txId}?format=json`)
    if (reply.status === 200) return sightingOf(reply.body)
    // Not by its path: a 404 would not say which round the indexer has reached.
    const indexed = await indexer?.get(`/v2/transactions?txid=${txId}`)
    const found = Array.isArray(indexed?.transactions) ? indexed.transactions.find(isOf(txId)) : undefined
    if (found) return indexedSighting(found)
    return {
      state: 'unseen',
      nodeRound: bigintIn(params, 'last-round'),
      ...(indexed && { indexerRound: bigintIn(indexed, 'current-round') }),
    }
  } finally {
    await Promise.all([node.close(), indexer?.close()])
  }
}

function isOf(txId: string) {
  return (transaction: unknown): transaction is Record<string, unknown> =>
    isRecord(transaction) && transaction.id === txId
}

function sightingOf(body: Record<string, unknown>): Sighting {
  const signed = isRecord(body.txn) ? body.txn : {}
  const txn = isRecord(signed.txn) ? signed.txn : {}
  const moved = txn.type === 'axfer' ? movedIn(txn) : undefined
  if (body['confirmed-round'] !== undefined && body['confirmed-round'] !== 0)
    return { state: 'landed', round: bigintIn(body, 'confirmed-round'), moved }
  const lastValid = bigintIn(txn, 'lv')
  const why = textIn(body, 'pool-error')
  return why === '' ? { state: 'pending', lastValid, moved } : { state: 'dropped', why, lastValid, moved }
}

/** Nodes leave fields out that are zero. `asnd` is whose money a clawback moves. */
function movedIn(txn: Record<string, unknown>): Moved {
  return {
    payer: textIn(txn, txn.asnd === undefined ? 'snd' : 'asnd'),
    receiver: textIn(txn, 'arcv'),
    asset: String(txn.xaid === undefined ? 0n : bigintIn(txn, 'xaid')),
    amount: txn.aamt === undefined ? 0n : uint64In(txn, 'aamt'),
  }
}

function indexedSighting(transaction: Record<string, unknown>): Sighting {
  const { payer, receiver, asset, amount, landedMs } = transferOf(transaction)
  const landed = { state: 'landed', round: bigintIn(transaction, 'confirmed-round'), landedMs } as const
  return asset === '' ? landed : { ...landed, moved: { payer, receiver, asset, amount } }
}
