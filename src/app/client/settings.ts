/** What a client is made of, and what its options mean wherever it runs. */
import type { Algod } from '../../adapters/algorand/algod-questions.js'
import type { Indexer } from '../../adapters/algorand/indexer-questions.js'
import { memorySpendLedger } from '../../adapters/memory/spend.js'
import { SdkError, type SvcError } from '../../domain/errors.js'
import { usdToBaseUnits } from '../../domain/money.js'
import { isNetwork, type Network } from '../../domain/network.js'
import { type Clock, wakefulClock } from '../../ports/clock.js'
import type { PaymentSigner } from '../../ports/payment-signer.js'
import { type Random, systemRandom } from '../../ports/random.js'
import type { SpendEnd, SpendLedger } from '../../ports/spend.js'
import { type Balance, balanceOf } from './balance.js'
import { type Exchange, exchangeOver } from './http-exchange.js'
import { lateSettlements } from './late-settlements.js'
import { type ReceiptBook, receiptBook } from './receipts.js'
import type { RetryOptions, RetryPolicy } from './retry.js'
import { type SpendingLimits, spendingLimits } from './spending-limits.js'

export interface BaseOptions {
  /** USD per call, such as `$0.05`. @default none: whatever is quoted is paid; without any cap on mainnet, with a warning */
  readonly maxPrice?: string
  /**
   * USD per rolling 24 hours, such as `$2`. Whatever was signed and handed over counts, until the chain proves that it
   * cannot land: no answer of a seller gives it back.
   *
   * @default none
   */
  readonly maxPerDay?: string
  /**
   * For 5xx and lost answers only, with the same payment; `false` sends everything once. What is waited out is no attempt:
   * a call that is being worked on after its answer was lost, and earlier runs that are not settled yet (429
   * `too_many_unpaid_calls`).
   *
   * @default `{ attempts: 3, baseMs: 250, maxMs: 8000 }`
   */
  readonly retry?: RetryOptions | false
  /** What requests to sellers go through. @default the global fetch */
  readonly fetchImpl?: typeof fetch
  /** The API token of the node at `algodUrl`. @default none */
  readonly algodToken?: string
  /**
   * An indexer that is asked whether a payment can still land where the node's blocks do not tell: where it keeps no old
   * ones, and for payments that a quote made valid for more than 6 minutes. Without it those count for a day.
   *
   * @default a public indexer of the network, where `algodUrl` is left out; else none
   */
  readonly indexerUrl?: string
  /** Where spending is counted. @default this client's own memory */
  readonly ledger?: SpendLedger
  /**
   * Refuses quotes for a resource of another origin, instead of warning. Sellers behind proxies quote such.
   *
   * @default false
   */
  readonly strictResource?: boolean
  /**
   * How long one answer is waited for, and all that is waited out together, in milliseconds.
   *
   * @default 360000, which is a seller's longest handler and its settlement
   */
  readonly timeoutMs?: number
  /** How many payments `receipts` remembers. @default 1000 */
  readonly receiptsMax?: number
}

export interface Settings {
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly signer: PaymentSigner | undefined
  readonly limits: SpendingLimits
  readonly receipts: ReceiptBook
  readonly exchange: Exchange
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly strictResource: boolean
  /** Whether the node knows a transaction as landed. False says nothing. */
  landed(txId: string): Promise<boolean>
  balance(address: string): Promise<Balance>
}

export interface Surroundings {
  readonly network: Network
  readonly algod: Algod
  readonly indexer: Indexer | undefined
  readonly signer: PaymentSigner | undefined
  /** @default the system's, whose timers keep the process alive */
  readonly clock?: Clock
  /** @default the system's */
  readonly random?: Random
}

const RETRY: RetryPolicy = { attempts: 3, baseMs: 250, maxMs: 8_000 }
const ONCE: RetryPolicy = { attempts: 1, baseMs: 0, maxMs: 0 }
const TIMEOUT_MS = 360_000
const TIMEOUT_MAX_MS = 2 ** 31 - 1
const RECEIPTS_MAX = 1_000

/** @throws SvcError `invalid_price`, `invalid_options` */
export function settingsOver(surroundings: Surroundings, options: BaseOptions): Settings {
  const { network, algod, indexer, signer, clock = wakefulClock, random = systemRandom } = surroundings
  const { ledger = memorySpendLedger(clock), fetchImpl, strictResource = false } = options
  const { timeoutMs = TIMEOUT_MS, receiptsMax = RECEIPTS_MAX } = options
  if (!(timeoutMs > 0 && timeoutMs <= TIMEOUT_MAX_MS)) throw invalid('timeoutMs is a positive number')
  if (!Number.isInteger(receiptsMax) || receiptsMax < 0) throw invalid('receiptsMax is a whole number from 0')
  checkLedger(ledger)
  const caps = { maxPrice: capOf(options.maxPrice), maxPerDay: capOf(options.maxPerDay) }
  const receipts = receiptBook(receiptsMax, clock.now)
  const settled = (txId: string, end: SpendEnd) =>
    receipts.update(txId, { charged: end === 'spent' ? 'yes' : 'no' })
  const late = lateSettlements({ ledger, network, algod, indexer, clock, settled })
  return {
    network,
    signer,
    clock,
    random,
    limits: spendingLimits({ ledger, network, caps, late, random }),
    receipts,
    exchange: exchangeOver(fetchImpl, clock),
    retry: retryOf(options.retry),
    timeoutMs,
    strictResource,
    landed: async txId => {
      try {
        return (await algod.confirmedRound(txId)) !== undefined
      } catch {
        return false
      }
    },
    balance: address => balanceOf(algod, network, address),
  }
}

/** Whether a client with these options pays real money, in any amount that a seller quotes. */
export function isUncapped({ network, signer }: Settings, { maxPrice, maxPerDay }: BaseOptions): boolean {
  return network === 'mainnet' && signer !== undefined && maxPrice === undefined && maxPerDay === undefined
}

export const UNCAPPED =
  'This SvcClient pays whatever is quoted on mainnet: give it maxPrice (a call) and maxPerDay (24 hours)'

/** @throws SvcError `invalid_options` */
export function checkedNetwork(network: unknown): Network {
  if (isNetwork(network)) return network
  throw invalid(`network is mainnet or testnet, not ${JSON.stringify(network)}`)
}

export function invalid(why: string): SvcError {
  return new SdkError(`SvcClient: ${why}`, 'invalid_options')
}

const LEDGER_MOVES = ['reserve', 'attach', 'release', 'due', 'postpone', 'settle'] as const

/** One that cannot do all of this fails when a payment is signed already. */
function checkLedger(ledger: SpendLedger): void {
  const missing = LEDGER_MOVES.filter(move => typeof ledger[move] !== 'function')
  if (missing.length > 0) throw invalid(`ledger has no ${missing.join(', ')}: see SpendLedger`)
}

function capOf(usd: string | undefined): bigint | undefined {
  return usd === undefined ? undefined : usdToBaseUnits(usd)
}

function retryOf(retry: RetryOptions | false | undefined): RetryPolicy {
  if (retry === false) return ONCE
  const policy = { ...RETRY, ...retry }
  if (!Number.isInteger(policy.attempts) || policy.attempts < 1)
    throw invalid('retry.attempts is a whole number from 1')
  if (!(policy.baseMs >= 0 && policy.maxMs >= 0))
    throw invalid('retry.baseMs and retry.maxMs are milliseconds')
  return policy
}
