/**
 * What is checked before a payment is signed: whether the request fits what its quote says, and what the paying account lacks.
 * A facilitator says what is lacking in the words of a simulated transaction, and only after the seller has the payment. The node is
 * asked for the first payment, after it has told its parameters, and again only where the balance that it told, less what was signed
 * since, does not suffice. So an account with money costs no more questions. A node that does not answer stops no payment.
 */
import type { Algod } from '../../adapters/algorand/algod-and-indexer.js'
import { SdkError, type SvcError, shown } from '../../domain/errors.js'
import { sharedQuestions } from '../../domain/load-once.js'
import { formatUsd, usdNumber } from '../../domain/money.js'
import type { NetworkFacts } from '../../domain/network.js'
import { type PaymentRequired, recordAt } from '../../domain/x402.js'
import type { HttpRequest } from './build-request.js'
import { resourceIn } from './read-quote.js'

/** What a wallet holds. */
export interface Balance {
  /** The paying address. */
  readonly address: string
  /** USDC in base units (millionths); `null` where the account has not opted in to USDC. */
  readonly usdc: bigint | null
  /** The same in USD; `null` likewise. */
  readonly usd: number | null
  /** Frozen USDC cannot be paid. */
  readonly frozen: boolean
  /** ALGO, in millionths. */
  readonly microAlgos: bigint
}

type AccountReader = Pick<Algod, 'account' | 'assetHolding'>

export async function walletBalance(
  algod: AccountReader,
  network: NetworkFacts,
  address: string,
): Promise<Balance> {
  const [{ microAlgos }, holding] = await Promise.all([
    algod.account(address),
    algod.assetHolding(address, network.usdc),
  ])
  const usdc = holding?.amount ?? null
  return {
    address,
    usdc,
    usd: usdc === null ? null : usdNumber(usdc),
    frozen: holding?.frozen ?? false,
    microAlgos,
  }
}

const UNKNOWN = 2n ** 64n

export function fundsCheck(
  algod: AccountReader,
  network: NetworkFacts,
  address: string,
): (amount: bigint) => Promise<SvcError | undefined> {
  /** `undefined`: not opted in. */
  let left: bigint | undefined
  const reading = sharedQuestions<void>()

  async function read(): Promise<void> {
    try {
      const holding = await algod.assetHolding(address, network.usdc)
      // The 404 may be a proxy's. Where this throws, nothing is known of the account.
      if (!holding) await algod.account(address)
      left = holding?.amount
    } catch {
      left = UNKNOWN
    }
  }

  return async amount => {
    if (left === undefined || left < amount) await reading(read)
    if (left === undefined) {
      const message = `This wallet is not opted in to USDC on ${network.name}: svc wallet optin; nothing was paid (${address})`
      return new SdkError(message, 'no_opt_in', 402, { address, amount: amount.toString() })
    }
    if (left < amount) {
      const message = `This wallet has ${formatUsd(left)}, the call costs ${formatUsd(amount)}; nothing was paid (${address})`
      const detail = { address, usdc: left.toString(), amount: amount.toString() }
      return new SdkError(message, 'insufficient_funds', 402, detail)
    }
    left -= amount
    return undefined
  }
}

type Asked = Pick<HttpRequest, 'url' | 'method' | 'body'>

/**
 * What `call` throws instead of paying; `undefined` where the quote does not say that the request would be refused. Indexes ask for
 * prices by GET and without a body, so sellers also quote requests that they refuse once they are paid, and would then hold a signed
 * payment. What an endpoint takes is in x402's extension `bazaar`, also in the quotes of other sellers.
 */
export function unfitRequest(asked: Asked, challenge: PaymentRequired): SvcError | undefined {
  const why = mismatchOf(asked, challenge)
  if (why === undefined) return undefined
  const message = `${asked.url.origin} would refuse this request after its payment: ${why}; nothing was paid`
  return new SdkError(message, 'invalid_request', 402, challenge)
}

function mismatchOf({ url, method, body }: Asked, challenge: PaymentRequired): string | undefined {
  const bazaar = isFor(url, challenge) ? recordAt(challenge.extensions, 'bazaar') : undefined
  const declared = recordAt(bazaar, 'info', 'input')
  if (declared?.type !== 'http') return undefined
  if (typeof declared.method === 'string' && declared.method.toUpperCase() !== method.toUpperCase())
    return `it takes ${shown(declared.method)}, and this is a ${method}`
  const parts = recordAt(bazaar, 'schema', 'properties', 'input', 'properties')
  const fields = body === undefined ? requiredOf(recordAt(parts, 'body')) : []
  if (fields.length > 0) return `it needs a body with ${shown(fields.join(', '))}`
  const given = [...url.searchParams.keys()]
  // Sellers also read `ids[]=1` as `ids`, and `filter[name]=x` as `filter`.
  const isGiven = (name: string) => given.some(key => key === name || key.startsWith(`${name}[`))
  const query = requiredOf(recordAt(parts, 'queryParams')).filter(name => !isGiven(name))
  return query.length > 0 ? `its query needs ${shown(query.join(', '))}` : undefined
}

/** Whether the quote describes this path: over A2A one address sells many endpoints. */
function isFor({ pathname }: URL, challenge: PaymentRequired): boolean {
  const url = resourceIn(challenge)
  return url !== undefined && URL.canParse(url) && new URL(url).pathname === pathname
}

/** Zod lists a property with a default as required: it describes what the handler gets. */
function requiredOf(schema: Record<string, unknown> | undefined): string[] {
  const names: unknown = schema?.required
  if (!Array.isArray(names)) return []
  const hasDefault = (name: string) => 'default' in (recordAt(schema, 'properties', name) ?? {})
  return names.filter(name => typeof name === 'string' && !hasDefault(name))
}
