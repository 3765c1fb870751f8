/** A balance: money that is paid at once, from which calls take what they cost. */
import type { EndpointDef } from './endpoint.js'
import { shown } from './errors.js'
import { formatUsd, usdToBaseUnits } from './money.js'
import { refuseUnknown } from './option-checks.js'
import { periodMs } from './subscription-terms.js'

/**
 * What balances an agent sells. Its key opens every endpoint of the agent that has a price per call.
 *
 * @example
 * const balance = { amounts: ['$1', '$5', '$20'], period: '90d' }
 */
export interface BalanceTerms {
  /** The amounts that can be bought, in USD: 1 to 20 of them, each below $1,000,000,000. */
  readonly amounts: readonly string[]
  /** How long a balance lasts: a whole number of `ms`, `s`, `m`, `h`, `d` or `w`, such as `90d`. What is left then is gone. */
  readonly period: string
}

export const BALANCE_ENDPOINT = 'balance'

export const BALANCE_KEY_HEADER = 'x-svc-balance-key'
export const MAX_CHARGE_HEADER = 'x-svc-max-charge'

export const BALANCE_EXTENSION = 'svc-balance'

const AMOUNTS_MAX = 20
/** A store counts in whole numbers up to 2^53. */
const UNITS_MAX = 10n ** 15n

/** A frozen copy, its amounts as they are shown; `undefined` where an agent sells no balance. */
export function checkedBalance(given: unknown, refuse: (why: string) => never): BalanceTerms | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'object' || given === null) refuse('balance is not {amounts, period}')
  refuseUnknown(given as object, ['amounts', 'period'], 'balance', refuse)
  const { amounts, period } = given as { amounts?: unknown; period?: unknown }
  periodMs(period)
  if (!Array.isArray(amounts) || amounts.length === 0 || amounts.length > AMOUNTS_MAX)
    return refuse(`balance.amounts is a list of 1 to ${AMOUNTS_MAX} USD amounts, not ${shown(amounts)}`)
  const units = amounts.map(usdToBaseUnits)
  if (units.some(amount => amount >= UNITS_MAX)) refuse('balance.amounts are below $1,000,000,000')
  const inOrder = [...new Set(units)].sort((a, b) => (a < b ? -1 : 1))
  return Object.freeze({ amounts: Object.freeze(inOrder.map(formatUsd)), period: period as string })
}

/** The options of the endpoint that sells them: its quote is the amount that the body names. */
export function balanceEndpoint({ amounts, period }: BalanceTerms) {
  // '$0.20' is '$0.2', too, and '$5.00' is '$5'.
  const spelt = amounts.flatMap(amount => [...new Set([amount, amount.replace(/\.?0+$/, '')])])
  return {
    name: BALANCE_ENDPOINT,
    description: `Sells a balance for ${period}: its key (${BALANCE_KEY_HEADER}) pays for calls of this agent, each for what it costs.`,
    // Its schema lets no other amount through; a probe has none.
    price: ({ body }: { readonly body: { readonly amount?: string } }) => body.amount ?? amounts[0]!,
    priceHint: amounts.join(amounts.length === 2 ? ' or ' : ', '),
    input: { type: 'object', required: ['amount'], properties: { amount: { enum: spelt } } },
    handler: ({ body }: { readonly body: { readonly amount: string } }) => ({
      balance: String(usdToBaseUnits(body.amount)),
      period,
    }),
  } as const
}

/** Whether calls of the endpoint may be paid from a balance of its agent. */
export function takesBalance(agents: BalanceTerms | undefined, def: EndpointDef): boolean {
  const { balance, sells, subscription } = def
  return agents !== undefined && sells === undefined && subscription === undefined && balance !== false
}

/** @param price of the call, where nothing else pays for it: then the quote's own amount is that of the smallest balance */
export function declaredBalance({ amounts, period }: BalanceTerms, baseUrl: string, price?: string) {
  return {
    info: {
      endpoint: `${baseUrl}/${BALANCE_ENDPOINT}`,
      header: BALANCE_KEY_HEADER,
      amounts: amounts.map(amount => String(usdToBaseUnits(amount))),
      period,
      ...(price !== undefined && { only: true, price }),
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      required: ['endpoint', 'header', 'amounts', 'period'],
    },
  }
}
