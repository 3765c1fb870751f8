/** The client's options, and what they mean: read once, into `Settings`. */
import { type KeyOptions, keyPairOf, sandboxUrl, warn } from '#platform'
import { encodeAddress } from '../../adapters/algorand/address.js'
import { type Algod, algodClient, indexerClient } from '../../adapters/algorand/algod-and-indexer.js'
import type { ChainOptions } from '../../adapters/algorand/chain-reader.js'
import { algorandPaymentSigner } from '../../adapters/algorand/sign-payment-group.js'
import { memorySpendLedger } from '../../adapters/memory/spend-ledger.js'
import { type Network, type NetworkFacts, type NetworkName, unnamedNetwork } from '../../domain/network.js'
import { networkFacts, nodeUrls } from '../../domain/network-definition.js'
import {
  asGiven,
  flag,
  groupOrOff,
  invalid,
  milliseconds,
  type Option,
  optional,
  readOptions,
  usd,
  whole,
} from '../../domain/option-checks.js'
import { isRecord } from '../../domain/x402.js'
import { wakefulClock } from '../../ports/clock.js'
import type { PaymentSigner, Signer } from '../../ports/payment-signer.js'
import { type Random, systemRandom } from '../../ports/random.js'
import type { SpendEnd, SpendLedger } from '../../ports/spend-ledger.js'
import { type Balance, fundsCheck, walletBalance } from './check-before-signing.js'
import { type HeldBalances, heldBalances } from './held-balances.js'
import { type Exchange, exchangeOver, openReply } from './http-reply.js'
import { lateSettlements } from './late-settlements.js'
import { type ReceiptBook, receiptBook } from './receipt-book.js'
import { type AskingDeps, type RetryOptions, retryPolicy } from './send-with-retries.js'
import { ledgerOption, type SpendingLimits, spendingLimits } from './spending-limits.js'
import { type SubscriptionKeys, subscriptionKeys } from './subscription-keys.js'

/** Who pays, on which network, and how much at most. Without a key or a signer the client can only make free calls. */
export interface ClientOptions extends KeyOptions {
  /** Signs instead of a key: a key service, a wallet. In a browser it is the only way to pay. */
  readonly signer?: Signer
  /**
   * The only network that is paid on: `mainnet`, `testnet` or a definition.
   *
   * @default 'mainnet'; in Node with the environment variable `SVC_SANDBOX` set, 'testnet'
   */
  readonly network?: Network | NetworkName | undefined
  /** The node that payments are built with. @default in Node `SVC_SANDBOX`, else the network's: its definition's, or a public one */
  readonly algodUrl?: string
  /** The API token of the node. @default that of the network's definition for its own node; else none */
  readonly algodToken?: string
  /**
   * An indexer. It is asked whether a payment can still land where the node's blocks do not show it: where the node keeps no
   * old blocks, and for payments that a quote made valid for more than 6 minutes. Without an indexer those count for a day.
   *
   * @default that of the network's definition, unless `SVC_SANDBOX` replaces the node; of a public network a public one, unless
   * `SVC_SANDBOX` or `algodUrl` does; else none
   */
  readonly indexerUrl?: string
  /** USD per call, such as `$0.05`. @default none: whatever is quoted is paid; without any cap on mainnet, with a warning */
  readonly maxPrice?: string
  /**
   * USD per rolling 24 hours, such as `$2`. Every payment that was signed and sent counts, until the chain proves that it
   * cannot land: no answer of a seller gives it back.
   *
   * @default none
   */
  readonly maxPerDay?: string
  /**
   * Buys a balance of `amount` again at an agent where one was bought, once less than `below` is left there; only with `maxPerDay`.
   *
   * @default none
   */
  readonly topUp?: {
    /** USD, such as `$0.50`. */
    readonly below: string
    /** USD, one of the amounts that the agents sell. */
    readonly amount: string
  }
  /** Where spending is counted. @default this client's own memory */
  readonly ledger?: SpendLedger
  /**
   * For 5xx and lost answers only, with the same payment; `false` sends everything once. Two kinds of answers are waited out
   * and count as no attempt: a call that is still running after its answer was lost, and earlier runs that are not settled
   * yet (429 `too_many_unpaid_calls`).
   *
   * @default `{ attempts: 3, baseMs: 250, maxMs: 8000 }`
   */
  readonly retry?: RetryOptions | false
  /**
   * The time limit for one answer, for all waiting-out together, and for a signature of `signer`, in milliseconds. For a stream, until
   * its first byte may be read.
   *
   * @default 360000, which is a seller's longest handler and its settlement
   */
  readonly timeoutMs?: number
  /** Sends requests to sellers. @default the global fetch */
  readonly fetchImpl?: typeof fetch
  /**
   * Refuses quotes for a resource of another origin, instead of warning. Sellers behind proxies send such quotes.
   *
   * @default false
   */
  readonly strictResource?: boolean
  /** How many payments `receipts` remembers. @default 1000 */
  readonly receiptsMax?: number
}

export interface Settings extends AskingDeps {
  readonly network: NetworkFacts
  readonly signer: PaymentSigner | undefined
  readonly limits: SpendingLimits
  readonly receipts: ReceiptBook
  readonly keys: SubscriptionKeys
  readonly balances: HeldBalances
  readonly topUp: { readonly below: bigint; readonly amount: bigint } | undefined
  readonly fetchImpl: typeof fetch | undefined
  /** As `exchange`, but the body of a success is handed over. */
  readonly openExchange: Exchange
  readonly strictResource: boolean
  /** Whether the node knows a transaction as landed. False proves nothing. */
  landed(txId: string): Promise<boolean>
  wallet(address: string): Promise<Balance>
}

const TIMEOUT_MS = 360_000
const TIMEOUT_MAX_MS = 2 ** 31 - 1

/** A limit that is misspelt is no limit, so that unknown options are refused. */
const OPTIONS = {
  mnemonic: asGiven<unknown>(),
  secretKey: asGiven<unknown>(),
  signer: asGiven<Signer | undefined>(),
  network: asGiven<ClientOptions['network']>(),
  algodUrl: asGiven<string | undefined>(),
  algodToken: asGiven<string | undefined>(),
  indexerUrl: asGiven<string | undefined>(),
  maxPrice: optional(usd()),
  maxPerDay: optional(usd()),
  topUp: groupOrOff({ below: usd(), amount: usd() }),
  ledger: ledgerOption,
  retry: retryPolicy,
  timeoutMs: milliseconds(TIMEOUT_MS, 1, TIMEOUT_MAX_MS),
  fetchImpl: asGiven<typeof fetch | undefined>(),
  strictResource: flag(false),
  receiptsMax: whole(0, 1_000),
} satisfies Record<keyof ClientOptions | 'mnemonic' | 'secretKey', Option<unknown>>

/** @throws SvcError `invalid_key`, `invalid_price`, `invalid_options` */
export function settingsOf(options: ClientOptions): Settings {
  const sandbox = sandboxUrl()
  const network = networkFacts(options.network ?? unnamedNetwork(sandbox), why => {
    throw invalid(why)
  })
  const { algodUrl, algodToken: token, indexerUrl } = nodeUrls(network, options, sandbox)
  if (algodUrl === undefined) throw invalid(`there is no algodUrl for ${network.name}: give one`)
  const node = { url: algodUrl, ...(token !== undefined && { token }) }
  const algod = algodClient(node)
  const indexer = indexerUrl === undefined ? undefined : indexerClient({ url: indexerUrl })
  const signer = signerOf(options, network, algod)
  const settings = settingsOver({ network, algod, indexer, signer }, options)
  warnIfUncapped(settings, options)
  return settings
}

/** Without a clock, it is the system's, whose timers keep the process alive. */
interface ClientSurroundings extends Pick<ChainOptions, 'network' | 'algod' | 'indexer' | 'clock'> {
  readonly signer: PaymentSigner | undefined
  /** @default the system's */
  readonly random?: Random
}

/** @throws SvcError `invalid_price`, `invalid_options` */
export function settingsOver(surroundings: ClientSurroundings, options: ClientOptions): Settings {
  const { network, algod, indexer, signer, clock = wakefulClock, random = systemRandom } = surroundings
  const read = readOptions(options, OPTIONS)
  const { ledger = memorySpendLedger(clock), fetchImpl, maxPrice, maxPerDay, receiptsMax, topUp } = read
  if (topUp && maxPerDay === undefined) throw invalid('topUp needs maxPerDay: a seller says what is left')
  const caps = { maxPrice, maxPerDay }
  const receipts = receiptBook(receiptsMax, clock.now)
  const settled = (txId: string, end: SpendEnd) =>
    receipts.update(txId, { charged: end === 'spent' ? 'yes' : 'no' })
  const late = lateSettlements({ ledger, network, algod, indexer, clock, settled })
  return {
    network,
    signer,
    clock,
    random,
    limits: spendingLimits({ ledger, network: network.key, caps, late, random, clock }),
    receipts,
    keys: subscriptionKeys(clock),
    balances: heldBalances(ledger.balances ? ledger : memorySpendLedger(clock), network, clock),
    topUp,
    fetchImpl,
    exchange: exchangeOver(fetchImpl, clock),
    openExchange: exchangeOver(fetchImpl, clock, openReply),
    retry: read.retry,
    timeoutMs: read.timeoutMs,
    strictResource: read.strictResource,
    landed: txId =>
      algod.confirmedRound(txId).then(
        round => round !== undefined,
        () => false,
      ),
    wallet: address => walletBalance(algod, network, address),
  }
}

/** An external signer's shape is checked here, and each of its signatures before it is used. */
function signerOf(options: ClientOptions, network: NetworkFacts, algod: Algod): PaymentSigner | undefined {
  const pair = keyPairOf(options)
  const key = pair ? { address: encodeAddress(pair.publicKey), sign: pair.sign } : options.signer
  if (!key) return undefined
  const { sign, signTransactions }: Record<string, unknown> = isRecord(key) ? key : {}
  if (typeof sign !== 'function' && typeof signTransactions !== 'function')
    throw invalid('signer is {address, sign} or {address, signTransactions}')
  const lackOf = fundsCheck(algod, network, key.address)
  const waiting = { clock: wakefulClock, timeoutMs: options.timeoutMs ?? TIMEOUT_MS }
  return algorandPaymentSigner({
    key,
    network,
    algod,
    lackOf,
    ...(!pair && { externalKey: true, ...waiting }),
  })
}

let warned = false

/** Once a process: a program that makes a client for each call would fill its log. */
function warnIfUncapped({ network, signer }: Settings, { maxPrice, maxPerDay }: ClientOptions): void {
  if (network.key !== 'mainnet' || !signer || maxPrice !== undefined || maxPerDay !== undefined) return
  if (!warned) warn(UNCAPPED, 'SVC_UNCAPPED')
  warned = true
}

const UNCAPPED =
  'This SvcClient pays whatever is quoted on mainnet: give it maxPrice (a call) and maxPerDay (24 hours)'
