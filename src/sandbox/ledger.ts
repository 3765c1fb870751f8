/** An Algorand ledger without consensus. It keeps every landed transaction, about 1 kB a payment, until the process ends. */
import type { SignedTransaction } from 'algosdk'
import { encoded } from '../adapters/algorand/transaction-hashes.js'
import type { NetworkFacts } from '../domain/network.js'
import { systemClock } from '../ports/clock.js'
import { type Evaluation, evaluateGroup, type MemberResult, type Simulated } from './apply-group.js'
import type { Refusal } from './check-signatures.js'
import { type Account, type Accounts, Draft } from './draft-accounts.js'
import { type Dropped, landedIds, waitingGroups } from './pool-and-leases.js'
import type { Rounds } from './rounds.js'

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
  readonly result: MemberResult
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

/**
 * When a payment lands: `at-once` counts it when it is submitted, and its block is the next round's; `with-the-round`
 * leaves it pending until the next round, as a node does.
 *
 * @useDeclaredType
 */
export type Landing = 'at-once' | 'with-the-round'

export type Ledger = ReturnType<typeof createLedger>

export interface LedgerOptions {
  readonly network: NetworkFacts
  readonly rounds: Rounds
  readonly feeSink: string
  /** @default the fee sink */
  readonly issuer?: string
  /** @default 'at-once' */
  readonly landing?: Landing
  /** The time of day. */
  readonly nowMs?: () => number
}

export function createLedger(options: LedgerOptions) {
  const { network, rounds, feeSink, issuer = feeSink, landing = 'at-once', nowMs = systemClock.now } = options
  const assetId = BigInt(network.usdc)
  const rules = { network, assetId, feeSink }
  const accounts: Accounts = new Map()
  const landed = new Map<string, LandedTransaction>()
  const blocks = new Map<bigint, string[]>()
  const dropped = new Map<string, Dropped>()
  const ids = landedIds()
  const pool = waitingGroups(accounts, ids)
  let roundOfPool = 0n
  const nowSeconds = () => Math.floor(nowMs() / 1_000)

  function evaluate(
    group: readonly SignedTransaction[],
    draft: Draft,
    round: bigint,
    simulated?: Simulated,
  ): Evaluation {
    return evaluateGroup(group, { draft, ids: landedIds(ids), round }, rules, simulated)
  }

  function landGroup(group: readonly SignedTransaction[], round: bigint): Refusal | undefined {
    const draft = new Draft(accounts)
    const { refusal, members } = evaluate(group, draft, round)
    if (refusal) return refusal
    draft.commit(accounts)
    for (const [at, signed] of group.entries()) land(signed, round, members[at]!)
  }

  /** All there is now. What waited lands once its round exists, without a timer: whoever asks next finds it landed. */
  function now() {
    const state = { accounts, landed, dropped, blocks, pool }
    if (pool.isEmpty() || rounds.current() < roundOfPool) return state
    for (const group of pool.take()) {
      const refusal = landGroup(group, roundOfPool)
      if (!refusal) continue
      for (const signed of group) dropped.set(encoded(signed.txn).txId, { signed, error: refusal.message })
    }
    return state
  }

  function wait(group: readonly SignedTransaction[]): Refusal | undefined {
    const draft = pool.draft()
    const round = rounds.current() + 1n
    const { refusal } = evaluateGroup(group, { draft, ids: pool.ids(), round }, rules)
    if (refusal) return refusal
    pool.add(group, draft)
    roundOfPool = round
  }

  function land(signed: SignedTransaction, round: bigint, result: MemberResult): void {
    const { txn } = signed
    const { txId } = encoded(txn)
    const moved = txn.payment ?? txn.assetTransfer
    ids.add(txId, txn)
    landed.set(txId, {
      txId,
      round,
      landedAt: nowSeconds(),
      sender: txn.sender.toString(),
      receiver: moved?.receiver.toString() ?? '',
      amount: moved?.amount ?? 0n,
      asset: txn.assetTransfer?.assetIndex ?? null,
      feeMicroAlgos: txn.fee,
      signed,
      result,
    })
    const block = blocks.get(round)
    if (block) block.push(txId)
    else blocks.set(round, [txId])
  }

  /** A node evaluates it without its pool. */
  const evaluateNow = (group: readonly SignedTransaction[], simulated?: Simulated): Evaluation =>
    evaluate(group, new Draft(now().accounts), rounds.current() + 1n, simulated)

  return {
    network,
    assetId,
    issuer,
    feeSink,
    rounds,
    account: (address: string): Account => new Draft(now().accounts).account(address),
    /** Mints money: the only change of balances without a transaction. */
    credit(address: string, { microAlgos = 0n, usdc = 0n, optIn = usdc > 0n }: Credit): void {
      const draft = new Draft(now().accounts)
      draft.setMicroAlgos(address, draft.account(address).microAlgos + microAlgos)
      if (optIn) {
        const holding = draft.holding(address, assetId) ?? { amount: 0n, frozen: false }
        draft.setHolding(address, assetId, { ...holding, amount: holding.amount + usdc })
      }
      draft.commit(accounts)
    },
    freeze(address: string, frozen: boolean): void {
      const draft = new Draft(now().accounts)
      draft.setHolding(address, assetId, { ...(draft.holding(address, assetId) ?? { amount: 0n }), frozen })
      draft.commit(accounts)
    },
    /** The refusal that a submission would get now. Changes nothing. */
    simulate: (group: readonly SignedTransaction[]): Refusal | undefined => evaluateNow(group).refusal,
    /** A simulation with its options, and what each member would do. */
    evaluate: evaluateNow,
    /** Takes the whole group, or refuses it. It lands now or with the next round. */
    submit(group: readonly SignedTransaction[]): Refusal | undefined {
      now()
      return landing === 'at-once' ? landGroup(group, rounds.current() + 1n) : wait(group)
    },
    landed: (txId: string) => now().landed.get(txId),
    waiting: () => now().pool.list(),
    waitingFor: (txId: string) => now().pool.find(txId),
    /** A transaction that was taken and then could not land. */
    dropped: (txId: string) => now().dropped.get(txId),
    /** The ids in a round's block; `undefined` where this ledger has no such block (yet). */
    block(round: bigint): readonly string[] | undefined {
      if (round < rounds.first || round > rounds.current()) return undefined
      return now().blocks.get(round) ?? []
    },
    transactions: () => [...now().landed.values()],
    nowSeconds,
    /** All money, for checks that none is made or lost. */
    totals() {
      let microAlgos = 0n
      let usdc = 0n
      for (const account of now().accounts.values()) {
        microAlgos += account.microAlgos
        usdc += account.holdings.get(assetId)?.amount ?? 0n
      }
      return { microAlgos, usdc }
    },
  }
}
