/** Blocks. What they say of consensus is made up: there are no proposers, and hashes are of the round's number. */
import { decodeAddress, encodeBase32 } from '../../adapters/algorand/address.js'
import { hashOf } from '../../adapters/algorand/transaction-hashes.js'
import type { LandedTransaction, Ledger } from '../ledger.js'
import { json, type Reply, type SandboxRequest } from '../serve-http.js'
import { formatIn, formatted, refused, uintIn, type View } from './replies.js'
import { CONSENSUS } from './status-routes.js'

/** How many rounds a node keeps that is no archive. */
const ROUNDS_KEPT = 1_000n
/** A bonus of the proposer, in microalgos. */
const BONUS = 10_000_000

export function block(ledger: Ledger, { parts, query }: SandboxRequest): Reply {
  const round = uintIn('round', parts[0]!)
  formatIn(query)
  const landed = idsIn(ledger, round).flatMap(id => ledger.landed(id) ?? [])
  const isHeader = query.get('header-only') === 'true'
  return formatted(query, view => ({ block: shown(ledger, round, landed, isHeader, view) }))
}

export function txids(ledger: Ledger, { parts }: SandboxRequest): Reply {
  return json(200, { blockTxids: idsIn(ledger, uintIn('round', parts[0]!)) })
}

export function hash(ledger: Ledger, { parts }: SandboxRequest): Reply {
  const round = uintIn('round', parts[0]!)
  idsIn(ledger, round)
  return json(200, { blockHash: encodeBase32(hashFor('block', round)) })
}

function idsIn(ledger: Ledger, round: bigint): readonly string[] {
  const isForgotten = round + ROUNDS_KEPT < ledger.rounds.current()
  const ids = isForgotten ? undefined : ledger.block(round)
  if (!ids) throw refused('failed to retrieve information from the ledger', 404)
  return ids
}

function shown(
  ledger: Ledger,
  round: bigint,
  landed: readonly LandedTransaction[],
  isHeader: boolean,
  view: View,
): object {
  const { network, feeSink, issuer } = ledger
  const address = (text: string) => (view.format === 'json' ? text : decodeAddress(text))
  const made = (what: string) => view.bytes(hashFor(what, round))
  const previous = hashFor('block', round - 1n)
  const fees = landed.reduce((sum, { feeMicroAlgos }) => sum + feeMicroAlgos, 0n)
  return {
    bi: BONUS,
    fc: fees || undefined,
    fees: address(feeSink),
    gen: network.genesisId,
    gh: view.bytes(network.genesisHashBytes),
    // A measure of how full it is; an empty block leaves it out.
    ld: landed.length || undefined,
    prev: view.format === 'json' ? `blk-${encodeBase32(previous)}` : previous,
    prev512: view.bytes(Buffer.concat([previous, previous])),
    proto: CONSENSUS,
    rnd: round,
    rwcalr: 500_000,
    rwd: address(issuer),
    seed: made('seed'),
    spt: view.format === 'json' ? { 0: { n: 512 } } : new Map([[0, { n: 512 }]]),
    tc: ledger.transactions().length || undefined,
    ts: landed[0]?.landedAt ?? ledger.nowSeconds(),
    txn: landed.length > 0 ? made('txn') : undefined,
    txn256: made('txn256'),
    txn512: view.bytes(Buffer.concat([hashFor('txn512', round), hashFor('txn512', round)])),
    txns: isHeader || landed.length === 0 ? undefined : landed.map(each => inBlock(each, view)),
  }
}

/** A block's transactions leave out what the block says itself. */
function inBlock({ signed, result }: LandedTransaction, view: View): object {
  const { txn, ...rest } = entriesOf(view.signed(signed)) as Record<string, unknown>
  const { gh: _hash, gen, ...fields } = entriesOf(txn)
  return {
    ...rest,
    ca: result.closing || undefined,
    aca: result.assetClosing || undefined,
    hgi: gen === undefined ? undefined : true,
    txn: fields,
  }
}

function entriesOf(value: unknown): Record<string, unknown> {
  return value instanceof Map ? Object.fromEntries(value) : (value as Record<string, unknown>)
}

function hashFor(what: string, round: bigint): Buffer {
  return hashOf(Buffer.from(`${what} ${round}`))
}
