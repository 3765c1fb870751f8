/** What a client is made with, and what that means where something is left out. */
import { type Algod, algodClient } from '../../adapters/algorand/algod.js'
import { signingKey } from '../../adapters/algorand/keys.js'
import { algorandPaymentSigner } from '../../adapters/algorand/payment-signer.js'
import { memorySpendLedger } from '../../adapters/memory/spend.js'
import { SvcError } from '../../domain/errors.js'
import { usdToBaseUnits } from '../../domain/money.js'
import { DEFAULT_ALGOD, isNetwork, type Network } from '../../domain/network.js'
import type { PaymentSigner } from '../../ports/payment-signer.js'
import type { SpendLedger } from '../../ports/spend.js'
import { disownedPayments } from './disowned.js'
import { type Exchange, exchangeOver } from './exchange.js'
import { type Purse, purse } from './purse.js'
import type { RetryOptions, RetryPolicy } from './retry.js'

export interface ClientOptions {
  /** 25 words. Neither they nor the secret key are kept in any property, message or log. */
  readonly mnemonic?: string
  /** 64 bytes; instead of a mnemonic. */
  readonly secretKey?: Uint8Array
  /** @default 'mainnet'; with `SVC_SANDBOX` set, 'testnet', which is what a sandbox is. */
  readonly network?: Network
  /** USD per call. Without it, whatever is quoted is paid. */
  readonly maxPrice?: string
  /** USD per rolling 24 hours. */
  readonly maxPerDay?: string
  /** For 5xx and lost answers only, with the same payment; `false` sends everything once. */
  readonly retry?: RetryOptions | false
  /** @default the global fetch */
  readonly fetchImpl?: typeof fetch
  /** @default `SVC_SANDBOX`, else a public node of the network */
  readonly algodUrl?: string
  readonly algodToken?: string
  /** Where spending is counted. @default this client's own memory */
  readonly ledger?: SpendLedger
  /** Refuses quotes for a resource of another origin, instead of warning. Sellers behind proxies quote such. */
  readonly strictResource?: boolean
  /** How long one answer is waited for. @default 360000, which is a seller's longest handler and its settlement */
  readonly timeoutMs?: number
}

export interface Settings {
  readonly network: Network
  readonly signer: PaymentSigner | undefined
  readonly purse: Purse
  readonly exchange: Exchange
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly strictResource: boolean
  landed(txId: string): Promise<boolean>
}

const RETRY: RetryPolicy = { attempts: 3, baseMs: 250, maxMs: 8_000 }
const ONCE: RetryPolicy = { attempts: 1, baseMs: 0, maxMs: 0 }
const TIMEOUT_MS = 360_000
const TIMEOUT_MAX_MS = 2 ** 31 - 1

/** @throws SvcError `invalid_key`, `invalid_price`, `invalid_options` */
export function settingsOf(options: ClientOptions): Settings {
  const sandboxUrl = process.env.SVC_SANDBOX || undefined
  const { network = sandboxUrl ? 'testnet' : 'mainnet', ledger = memorySpendLedger(), fetchImpl } = options
  const { strictResource = false, timeoutMs = TIMEOUT_MS, algodToken: token } = options
  if (!isNetwork(network)) throw invalid(`network is mainnet or testnet, not ${JSON.stringify(network)}`)
  if (!(timeoutMs > 0 && timeoutMs <= TIMEOUT_MAX_MS)) throw invalid('timeoutMs is a positive number')
  const url = options.algodUrl ?? sandboxUrl ?? DEFAULT_ALGOD[network]
  const algod = algodClient({ url, ...(token !== undefined && { token }) })
  const caps = { maxPrice: capOf(options.maxPrice), maxPerDay: capOf(options.maxPerDay) }
  return {
    network,
    signer: signerOf(options, network, algod),
    purse: purse(ledger, caps, disownedPayments(ledger, algod)),
    exchange: exchangeOver(fetchImpl),
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
  }
}

function signerOf(options: ClientOptions, network: Network, algod: Algod): PaymentSigner | undefined {
  const { mnemonic, secretKey } = options
  if (mnemonic !== undefined && secretKey !== undefined)
    throw invalid('give a mnemonic or a secretKey, not both')
  const secret = mnemonic ?? secretKey
  return secret === undefined ? undefined : algorandPaymentSigner({ key: signingKey(secret), network, algod })
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

function invalid(why: string): SvcError {
  return new SvcError(`SvcClient: ${why}`, 'invalid_options')
}
