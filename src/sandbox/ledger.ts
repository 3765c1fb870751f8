/**
 * An Algorand ledger without consensus: real transactions, groups, signatures and balances. Groups land at once, in the round
 * after the last one. It keeps every landed transaction, about 1 kB a payment, until the process ends.
 */
import type { SignedTransaction, Transaction } from 'algosdk'
import { encodeBase32 } from '../adapters/algorand/base32.js'
import { encoded } from '../adapters/algorand/facilitating/encoded-transactions.js'
import type { NetworkFacts } from '../domain/network.js'
import { systemClock } from '../ports/clock.js'
import { type Account, type Accounts, Draft } from './account-balances.js'
import { applyTransaction } from './apply-transaction.js'
import { formRefusal } from './group-checks.js'
import { algoText, type Refusal } from './node-refusal.js'
import type { Rounds } from './rounds.js'

export const MIN_FEE_MICRO_ALGOS = 1_000n

export interface LandedTransaction {
  /** The transaction's id. */
  readonly txId: string
  /** The round that it landed in. */
  readonly round: bigint
  /** Seconds since the epoch. */
  readonly landedAt: number
  /** The payer's address. */
  readonly sender: string
  /** The receiver's address; empty for the call of an application, which moves nothing here. */
  readonly receiver: string
  /** Base units of the asset; microalgos where there is none. */
  readonly amount: bigint
  /** The asset's id; null for ALGO. */
  readonly asset: bigint | null
  /** The fee that its sender paid. */
  readonly feeMicroAlgos: bigint
  readonly signed: SignedTransaction
}

/** Money that an account gets. */
export interface Credit {
  /** ALGO, in millionths. */
  readonly microAlgos?: bigint
  /** USDC, in base units (millionths). */
  readonly usdc?: bigint
  /** Opts the account in to USDC; implied by crediting some. */
  readonly optIn?: boolean
}

export interface Ledger {
  readonly network: NetworkFacts
  readonly assetId: bigint
  readonly rounds: Rounds
  account(address: string): Account
  /** Mints money: the only change of balances without a transaction. */
  credit(address: string, credit: Credit): void
  freeze(address: string, frozen: boolean): void
  /** The refusal that a submission would get now. Changes nothing. */
  simulate(group: readonly SignedTransaction[]): Refusal | undefined
  /** Lands the whole group, or refuses it. */
  submit(group: readonly SignedTransaction[]): Refusal | undefined
  landed(txId: string): LandedTransaction | undefined
  /** The ids in a round's block; `undefined` where this ledger has no such block (yet). */
  block(round: bigint): readonly string[] | undefined
  transactions(): readonly LandedTransaction[]
  /** All money, for checks that none is made or lost. */
  totals(): { microAlgos: bigint; usdc: bigint }
}

export interface LedgerOptions {
  readonly network: NetworkFacts
  readonly rounds: Rounds
  readonly feeSink: string
  /** The time of day. */
  readonly nowMs?: () => number
}

export function createLedger({ network, rounds, feeSink, nowMs = systemClock.now }: LedgerOptions): Ledger {
  const assetId = BigInt(network.usdc)
  const accounts: Accounts = new Map()
  const landed = new Map<string, LandedTransaction>()
  const blocks = new Map<bigint, string[]>()

  function evaluate(group: readonly SignedTransaction[], draft: Draft): Refusal | undefined {
    const malformed = formRefusal(group)
    if (malformed) return malformed
    const round = rounds.current() + 1n
    let feesMicroAlgos = 0n
    const ids = new Set<string>()
    for (const [at, signed] of group.entries()) {
      const { txId } = encoded(signed.txn)
      const message =
        timeAndPlaceRefusal(signed.txn, round, network) ??
        (landed.has(txId) || ids.has(txId) ? `transaction already in ledger: ${txId}` : undefined) ??
        named(txId, authorRefusal(signed) ?? applyTransaction(draft, signed.txn, { assetId, feeSink }))
      if (message) return { stage: 'ledger', message, at }
      ids.add(txId)
      feesMicroAlgos += signed.txn.fee
    }
    return feeRefusal(group.length, feesMicroAlgos)
  }

  function land(signed: SignedTransaction, round: bigint): void {
    const { txn } = signed
    const { txId } = encoded(txn)
    const moved = txn.payment ?? txn.assetTransfer
    landed.set(txId, {
      txId,
      round,
      landedAt: Math.floor(nowMs() / 1_000),
      sender: txn.sender.toString(),
      receiver: moved?.receiver.toString() ?? '',
      amount: moved?.amount ?? 0n,
      asset: txn.assetTransfer?.assetIndex ?? null,
      feeMicroAlgos: txn.fee,
      signed,
    })
    const block = blocks.get(round)
    if (block) block.push(txId)
    else blocks.set(round, [txId])
  }

  return {
    network,
    assetId,
    rounds,
    account: address => new Draft(accounts).account(address),
    credit(address, { microAlgos = 0n, usdc = 0n, optIn = usdc > 0n }) {
      const draft = new Draft(accounts)
      draft.setMicroAlgos(address, draft.account(address).microAlgos + microAlgos)
      if (optIn) {
        const holding = draft.holding(address, assetId) ?? { amount: 0n, frozen: false }
        draft.setHolding(address, assetId, { ...holding, amount: holding.amount + usdc })
      }
      draft.commit(accounts)
    },
    freeze(address, frozen) {
      const draft = new Draft(accounts)
      draft.setHolding(address, assetId, { ...(draft.holding(address, assetId) ?? { amount: 0n }), frozen })
      draft.commit(accounts)
    },
    simulate: group => evaluate(group, new Draft(accounts)),
    submit(group) {
      const draft = new Draft(accounts)
      const refusal = evaluate(group, draft)
      if (refusal) return refusal
      draft.commit(accounts)
      const round = rounds.current() + 1n
      for (const signed of group) land(signed, round)
    },
    landed: txId => landed.get(txId),
    block(round) {
      if (round < rounds.first || round > rounds.current()) return undefined
      return blocks.get(round) ?? []
    },
    transactions: () => [...landed.values()],
    totals() {
      let microAlgos = 0n
      let usdc = 0n
      for (const account of accounts.values()) {
        microAlgos += account.microAlgos
        usdc += account.holdings.get(assetId)?.amount ?? 0n
      }
      return { microAlgos, usdc }
    },
  }
}

function timeAndPlaceRefusal(txn: Transaction, round: bigint, network: NetworkFacts): string | undefined {
  const { firstValid, lastValid, genesisID, genesisHash } = txn
  if (round < firstValid || round > lastValid) {
    return `txn dead: round ${round} outside of ${firstValid}--${lastValid}`
  }
  if (genesisID !== undefined && genesisID !== network.genesisId) {
    return `tx.GenesisID <${genesisID}> does not match expected <${network.genesisId}>`
  }
  const expected = network.genesisHashBytes
  const given = genesisHash ?? new Uint8Array(expected.length)
  if (Buffer.compare(given, expected) !== 0) {
    return `tx.GenesisHash <${encodeBase32(given)}> does not match expected <${encodeBase32(expected)}>`
  }
}

function authorRefusal({ txn, sgnr }: SignedTransaction): string | undefined {
  if (!sgnr || sgnr.toString() === txn.sender.toString()) return undefined
  return `should have been authorized by ${txn.sender} but was actually authorized by ${sgnr}`
}

function feeRefusal(size: number, feesMicroAlgos: bigint): Refusal | undefined {
  const needed = BigInt(size) * MIN_FEE_MICRO_ALGOS
  if (feesMicroAlgos >= needed) return undefined
  const usage = `usage=${size}.000000 * base=${algoText(MIN_FEE_MICRO_ALGOS)}`
  const message = `txgroup with ${algoText(feesMicroAlgos)} fees is less than ${algoText(needed)} (${usage})`
  return { stage: 'ledger', message }
}

function named(txId: string, message: string | undefined): string | undefined {
  return message && `transaction ${txId}: ${message}`
}
