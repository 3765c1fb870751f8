/** Whether a transaction landed, and what it moved: what a node and an indexer know of it. */
import {
  bigintIn,
  INDEXER_TOKEN_HEADER,
  type NodeOptions,
  nodeClient,
  textIn,
  uint64In,
} from '../adapters/algorand/ask-node.js'
import { type Transfer, transferOf } from '../audit/reconciliation/incoming-transfers.js'
import { SvcError } from '../domain/errors.js'
import { formatUsd } from '../domain/money.js'
import { type NetworkFacts, otherThan } from '../domain/network.js'
import { isRecord, recordAt } from '../domain/x402.js'
import { INDEXER_AHEAD_MAX } from '../ports/chain.js'

export type Sighting =
  | { readonly state: 'landed'; readonly round: bigint; readonly moved?: Moved; readonly landedMs?: number }
  | { readonly state: 'pending'; readonly lastValid: bigint; readonly moved?: Moved }
  /** This node gave it up. Another node may still have it until its last valid round. */
  | { readonly state: 'dropped'; readonly why: string; readonly lastValid: bigint; readonly moved?: Moved }
  | { readonly state: 'unseen'; readonly nodeRound: bigint; readonly indexerRound?: bigint }

export type Moved = Pick<Transfer, 'payer' | 'receiver' | 'asset' | 'amount'>

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
  const txn = recordAt(body, 'txn', 'txn') ?? {}
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

/** Why this is no payment in USDC that landed; `undefined` where it is one. */
export function whyNoPayment(
  sighting: Sighting,
  network: NetworkFacts,
  lastValid?: bigint,
): { readonly message: string; readonly code: string } | undefined {
  if ('nodeRound' in sighting) return unseen(sighting, lastValid)
  if ('round' in sighting) {
    const { round, moved } = sighting
    if (moved && moved.asset === network.usdcId && moved.amount > 0n) return undefined
    const what = moved ? amountOf(moved, network) : 'no asset'
    const message = `It landed in round ${round}, and is no payment in USDC: it moved ${what}`
    return { message, code: 'not_a_payment' }
  }
  if ('why' in sighting)
    return {
      message: `The node has given it up (${sighting.why}): through another node it can land until round ${sighting.lastValid}`,
      code: 'tx_dropped',
    }
  return {
    message: `The node has it, and it has not landed yet: it can until round ${sighting.lastValid}. Ask again`,
    code: 'tx_pending',
  }
}

function unseen(
  { nodeRound, indexerRound }: Extract<Sighting, { state: 'unseen' }>,
  lastValid: bigint | undefined,
) {
  const node = `The node has not seen it in the 1000 rounds up to ${nodeRound}`
  const seen = indexerRound === undefined ? node : `${node}, nor the indexer in any up to ${indexerRound}`
  const fits = indexerRound !== undefined && indexerRound <= nodeRound + INDEXER_AHEAD_MAX
  if (fits && lastValid !== undefined && lastValid < indexerRound && lastValid < nodeRound)
    return { message: `${seen}. It can no longer land: its last round was ${lastValid}`, code: 'tx_expired' }
  const until =
    lastValid === undefined ? 'most payments can for 5 minutes, and some for 50' : `until round ${lastValid}`
  const cure =
    indexerRound === undefined && lastValid !== undefined
      ? '. Only an indexer proves that it did not: give --indexer'
      : ''
  return { message: `${seen}. It may still land: ${until}${cure}`, code: 'tx_not_found' }
}

export function amountOf({ asset, amount }: Moved, { usdcId }: NetworkFacts): string {
  return asset === usdcId ? `${formatUsd(amount)} in USDC` : `${amount} base units of asset ${asset}`
}
