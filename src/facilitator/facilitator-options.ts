/** The options of a facilitator, read once and refused at once. */
import { isValidAddress } from '../adapters/algorand/address.js'
import { type SigningKey, signingKey } from '../adapters/algorand/signing-keys.js'
import { loggerOrSilent } from '../adapters/log/quiet-logger.js'
import { SvcError, shown } from '../domain/errors.js'
import type { Network, NetworkName } from '../domain/network.js'
import { networkFacts, nodeUrls } from '../domain/network-definition.js'
import { asGiven, invalid, type Option, readOptions, usd } from '../domain/option-checks.js'
import { isWebUrl } from '../domain/untrusted-text.js'
import type { Clock } from '../ports/clock.js'
import type { Logger } from '../ports/logger.js'

/** The options of {@link createFacilitator}. */
export interface FacilitatorOptions {
  /** The network on which it settles. */
  readonly network: Network | NetworkName
  /**
   * Your own Algorand node. All processes with one sponsor share one node: see the guide.
   *
   * @default the node in the network's definition; public networks have none
   */
  readonly algodUrl?: string | undefined
  /** The API token of the node. @default the definition's, for its own node */
  readonly algodToken?: string | undefined
  /** The account that pays the network's fees. Keep only little ALGO in it, and no other asset. */
  readonly sponsor: { readonly mnemonic: string } | { readonly secretKey: Uint8Array }
  /** The addresses whose payments it settles. `'anyone'` pays the fees of strangers' sales, too. */
  readonly payTo: readonly string[] | 'anyone'
  /** The smallest payment that it settles, in USDC. @default '$0.000001' */
  readonly amountMin?: string
  /** The largest fee that the sponsor pays for one payment, in microalgos. @default 10000 */
  readonly feePerPaymentMax?: number
  /**
   * The most fees that the sponsor pays in a day, in microalgos. The day begins at midnight, UTC. A process that restarts forgets
   * what it has paid.
   *
   * @default 1000000
   */
  readonly feePerDayMax?: number
  /** Any pino-compatible logger. It never receives the key or a payload. @default silent */
  readonly logger?: Logger
  /** The clock, so that tests can control time. @default the system's */
  readonly clock?: Partial<Clock>
}

export type FacilitatorSettings = ReturnType<typeof facilitatorSettings>

const OPTIONS = {
  network: asGiven<FacilitatorOptions['network']>(),
  algodUrl: asGiven<string | undefined>(),
  algodToken: asGiven<string | undefined>(),
  sponsor: keyOf,
  payTo: payToOf,
  // Never zero: who moves nothing would use up the fees of a day at no cost.
  amountMin: usd('$0.000001'),
  feePerPaymentMax: feeOf(10_000),
  feePerDayMax: feeOf(1_000_000),
  logger: loggerOrSilent,
  clock: asGiven<Partial<Clock> | undefined>(),
} satisfies Record<keyof FacilitatorOptions, Option<unknown>>

/** @throws SvcError `invalid_options`, `invalid_address`, `invalid_key`, `invalid_price` */
export function facilitatorSettings(options: FacilitatorOptions) {
  const { algodUrl, algodToken, sponsor: key, ...read } = readOptions(options, OPTIONS)
  const refuse = (why: string): never => {
    throw invalid(why)
  }
  const network = networkFacts(read.network, refuse)
  // The node that a public network has by default is a balancer, and others run it.
  const isPublic = typeof network.given === 'string'
  const node = isPublic ? { algodUrl, algodToken } : nodeUrls(network, { algodUrl, algodToken }, undefined)
  return { ...read, key, network, algodUrl: nodeUrl(node.algodUrl), algodToken: node.algodToken }
}

function nodeUrl(text: unknown): string {
  if (isWebUrl(text)) return text
  throw invalid('algodUrl is the http(s) URL of a node, without a password')
}

/** No message quotes anything of the key. */
function keyOf(sponsor: unknown): SigningKey {
  const { mnemonic, secretKey }: Record<string, unknown> = typeof sponsor === 'object' ? { ...sponsor } : {}
  const secret = mnemonic ?? secretKey
  const isOne = (mnemonic === undefined) !== (secretKey === undefined)
  if (isOne && (typeof secret === 'string' || secret instanceof Uint8Array)) return signingKey(secret)
  throw invalid('sponsor is { mnemonic } or { secretKey }')
}

function payToOf(payTo: unknown): ReadonlySet<string> | 'anyone' {
  if (payTo === 'anyone') return payTo
  if (!Array.isArray(payTo) || payTo.length === 0)
    throw invalid("payTo lists the addresses whose payments are settled, or is 'anyone'")
  const wrong = payTo.find(address => !isValidAddress(address))
  if (wrong === undefined) return new Set(payTo)
  throw new SvcError(`payTo lists Algorand addresses, not ${shown(wrong)}`, 'invalid_address')
}

function feeOf(fallback: number): Option<bigint> {
  return (fee = fallback, name) => {
    if (Number.isSafeInteger(fee) && (fee as number) > 0) return BigInt(fee as number)
    throw invalid(`${name} is a positive whole number of microalgos, not ${shown(fee)}`)
  }
}
