/** The price of an endpoint, and the challenge that states it. That of a fixed price is encoded once for each base URL. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { usdToBaseUnits } from '../../domain/money.js'
import { type NetworkFacts, type NetworkIds, networkIdsOf } from '../../domain/network.js'
import { pathOfEndpoint } from '../../domain/path-pattern.js'
import { type QuoteExtra, quotedTags, type ServiceMetadata, windowFields } from '../../domain/quote-fields.js'
import { declaredSignIn, SIGN_IN_WITH_X } from '../../domain/sign-in-with-x.js'
import { type BalanceTerms, declaredBalance, takesBalance } from '../../domain/window-and-balance-terms.js'
import {
  BALANCE_ENDPOINT,
  BALANCE_EXTENSION,
  encodeHeader,
  type PaymentRequired,
  type PaymentRequirements,
  X402_VERSION,
} from '../../domain/x402.js'
import type { Challenge } from '../../ports/charge.js'
import type { Supported } from '../../ports/facilitator.js'

export interface TermsOptions {
  readonly network: NetworkFacts
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly networkIds: NetworkIds
  /** The agent's fields of every quote. */
  readonly extra?: QuoteExtra | undefined
  /** The agent's fields of every quote's `resource`. */
  readonly service?: ServiceMetadata
  /** The balances that the agent sells. */
  readonly balance?: BalanceTerms | undefined
  /** The address that proofs are compared with, where it is not the caller's base URL. */
  readonly publicUrl?: string | undefined
}

export interface Terms {
  /** Of a call at this price, in the spelling of the network's id that is offered first. */
  requirements(amount: bigint, supported: Supported | undefined): PaymentRequirements
  /**
   * Offers these requirements in each spelling, or the smallest balance where nothing else pays for the call. `error` says why the call is
   * not answered. `path` is the call's own, below the base URL.
   */
  challenge(baseUrl: string, requirements: PaymentRequirements, error: string, path?: string): Challenge
}

export const UNPAID = 'Payment required'

/** More base URLs than a real deployment has. Forged Host headers cannot grow the cache beyond it. */
const BASE_URLS_MAX = 64

/**
 * Limits the endpoint's description in a challenge; the manifest has the full text. The challenge is one header, and
 * Node clients read 16 KiB of headers: with a description of 10,000 characters no client could read the quote or pay.
 */
const DESCRIPTION_LENGTH_MAX = 500

/** Cuts between whole characters: half a surrogate pair cannot be encoded. */
function shortened(description: string): string {
  const characters = [...description]
  if (characters.length <= DESCRIPTION_LENGTH_MAX) return description
  return `${characters.slice(0, DESCRIPTION_LENGTH_MAX).join('')}…`
}

export function termsOf(
  def: EndpointDef,
  options: TermsOptions,
  extensions: Readonly<Record<string, unknown>> = {},
): Terms {
  const description = shortened(def.description)
  const encoded = new Map<string, { requirements: PaymentRequirements; challenge: Challenge }>()
  let fixed: { supported: Supported | undefined; requirements: PaymentRequirements } | undefined

  const tags = quotedTags(def.tags ?? [])
  const sold = def.sells && { balancePeriod: options.balance!.period }
  const own = { ...options.extra, ...def.extra, ...windowFields(def.subscription), ...sold }
  const { balance, publicUrl } = options
  const least = def.only && balance && String(usdToBaseUnits(balance.amounts[0]))
  const networkIds = networkIdsOf(options.network, options.networkIds)
  const ownPath = pathOfEndpoint(def)

  const build = (amount: bigint, supported: Supported | undefined): PaymentRequirements => ({
    scheme: 'exact',
    network: networkIds[0]!,
    amount: amount.toString(),
    asset: options.network.usdcId,
    payTo: options.payTo,
    maxTimeoutSeconds: options.maxTimeoutSeconds,
    extra: { ...own, ...(supported?.feePayer !== undefined && { feePayer: supported.feePayer }) },
  })

  /** An index lists all paths of a pattern as one resource. It knows no wildcards. */
  const listedAt = (baseUrl: string) => {
    const { bazaar } = extensions
    if (bazaar === undefined || !ownPath.includes(':') || ownPath.includes('*')) return extensions
    const routeTemplate = new URL(baseUrl).pathname.replace(/\/$/, '') + ownPath
    return { ...extensions, bazaar: { ...(bazaar as object), routeTemplate } }
  }

  const encode = (baseUrl: string, requirements: PaymentRequirements, error: string, path: string) => {
    const required: PaymentRequired = {
      x402Version: X402_VERSION,
      error,
      resource: {
        url: baseUrl + (def.only ? `/${BALANCE_ENDPOINT}` : path),
        description,
        mimeType: 'application/json',
        ...options.service,
        ...(tags.length > 0 && { tags }),
      },
      accepts: networkIds.map(id => ({ ...requirements, network: id, amount: least ?? requirements.amount })),
      extensions: {
        ...listedAt(baseUrl),
        ...(takesBalance(balance, def) && {
          [BALANCE_EXTENSION]: declaredBalance(balance!, baseUrl, def.only && requirements.amount),
        }),
        [SIGN_IN_WITH_X]: declaredSignIn(publicUrl ?? baseUrl, networkIds),
      },
    }
    return { required, header: encodeHeader(required) }
  }

  const ownAmount = def.amount === undefined ? undefined : BigInt(def.amount)
  return {
    requirements(amount, supported) {
      if (amount !== ownAmount) return build(amount, supported)
      // The facilitator returns the same object until its answer changes: identity shows that the cache is valid.
      if (fixed === undefined || fixed.supported !== supported)
        fixed = { supported, requirements: build(amount, supported) }
      return fixed.requirements
    },
    challenge(baseUrl, requirements, error, path = ownPath) {
      if (requirements !== fixed?.requirements || error !== UNPAID || path !== ownPath)
        return encode(baseUrl, requirements, error, path)
      const known = encoded.get(baseUrl)
      if (known?.requirements === requirements) return known.challenge
      const challenge = encode(baseUrl, requirements, error, path)
      // An order of use would cost every quote more than encoding all again now and then.
      if (encoded.size >= BASE_URLS_MAX) encoded.clear()
      encoded.set(baseUrl, { requirements, challenge })
      return challenge
    },
  }
}
