/** Decodes what a transaction moved, and judges whether it is an x402 settlement. */
import { type Finding, failed, ok, quoted, skipped } from '../../src/checks/index.js'
import { CAIP2, type PublicNetwork, USDC_ASSET_ID } from '../../src/domain/network.js'
import { type ChainReader, type Listed, OutOfReach } from './chain/chain-reader.js'
import {
  type IndexedTransaction,
  PAYMENT_NOTE_PREFIX,
  SPONSOR_NOTE_PREFIX,
} from './chain/indexed-transaction.js'
import { allPass, asChecks, type Check } from './checks.js'
import { type DecodedTransaction, decodedTransaction, sponsorOf } from './decoded-transaction.js'

export interface SettlementReport {
  readonly txid: string
  readonly network: string
  /** Whether it is a real x402 settlement: every check passed. */
  readonly settlement: boolean
  readonly checks: readonly Check[]
  readonly transaction: DecodedTransaction | null
}

export async function settlementReport(chain: ChainReader, txid: string): Promise<SettlementReport> {
  const { network } = chain
  const report = { txid, network: CAIP2[network] }
  const { transaction, currentRound, landedRound } = await chain.transaction(txid)
  if (landedRound !== undefined) {
    throw new OutOfReach(
      `It landed in round ${landedRound}, which the indexer does not show yet: ask again in some seconds`,
    )
  }
  if (!transaction) {
    const found = `no such transaction on ${network} up to round ${currentRound}`
    const fix = 'Check the id and the network; a payment that was never submitted leaves no trace'
    return {
      ...report,
      settlement: false,
      checks: asChecks([failed('landed', found, fix)]),
      transaction: null,
    }
  }
  const group =
    transaction.group === undefined ? undefined : await chain.group(transaction.group, transaction.round)
  const sponsor = sponsorOf(transaction, group)
  const findings = [
    ok('landed', `in round ${transaction.round}`),
    ...transferChecks(transaction, network),
    markCheck(transaction, sponsor),
    sponsorCheck(transaction, group, sponsor),
  ]
  const decoded = decodedTransaction(transaction, group, sponsor, network)
  return { ...report, settlement: allPass(findings), checks: asChecks(findings), transaction: decoded }
}

function transferChecks({ type, transfer, rekeyTo }: IndexedTransaction, network: PublicNetwork): Finding[] {
  if (!transfer) {
    return [
      failed(
        'transfer',
        `it is of type ${quoted(type)}`,
        'An x402 payment is an asset transfer: name the transaction that pays, not its sponsor',
      ),
    ]
  }
  const usdc = BigInt(USDC_ASSET_ID[network])
  const plain =
    transfer.clawedBackFrom === undefined && transfer.closeTo === undefined && rekeyTo === undefined
  return [
    ok('transfer', 'an asset transfer'),
    transfer.assetId === usdc
      ? ok('usdc', `asset ${usdc} is USDC on ${network}`)
      : failed('usdc', `asset ${transfer.assetId}`, `USDC on ${network} is asset ${usdc}`),
    transfer.amount > 0n
      ? ok('amount', `${transfer.amount} base units`)
      : failed('amount', 'nothing was moved', 'A payment moves more than zero'),
    plain
      ? ok('plain', 'it does nothing but pay')
      : failed(
          'plain',
          'it also closes, rekeys or claws back',
          'Do not take it for a payment: no x402 client builds it',
        ),
  ]
}

function markCheck({ note }: IndexedTransaction, sponsor: IndexedTransaction | undefined): Finding {
  if (note.startsWith(PAYMENT_NOTE_PREFIX)) return ok('x402-note', quoted(note))
  if (sponsor?.note.startsWith(SPONSOR_NOTE_PREFIX))
    return ok('x402-note', `its sponsor's: ${quoted(sponsor.note)}`)
  const found = note === '' ? 'no note' : quoted(note)
  return failed(
    'x402-note',
    found,
    `It may be a payment, but nothing says that it is x402's: their notes begin with ${PAYMENT_NOTE_PREFIX}`,
  )
}

function sponsorCheck(
  { feeMicroAlgos }: IndexedTransaction,
  group: Listed | undefined,
  sponsor: IndexedTransaction | undefined,
): Finding {
  if (sponsor)
    return ok('sponsored-group', `${sponsor.sender} paid ${sponsor.feeMicroAlgos} microalgos of fees`)
  if (feeMicroAlgos > 0n) return ok('sponsored-group', 'no sponsor: the payer paid the fee')
  if (group && !group.complete) {
    return skipped(
      'sponsored-group',
      'the round is too large to find the group in',
      'Read the round from a node',
    )
  }
  return failed(
    'sponsored-group',
    'somebody else in its group paid the fee, in no way that x402 sponsors do',
    'Look at the other transactions of the group before you rely on it',
  )
}
