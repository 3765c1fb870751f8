/** What is sold ahead of calls: a window, in which calls are free, and a balance, from which calls take what they cost. */
import { formatUsd, usdToBaseUnits } from './money.js'
import { asGiven, between, holding, type Option, optional, readOptions, such } from './option-checks.js'
import { periodMs } from './period.js'
import { BALANCE_ENDPOINT, BALANCE_KEY_HEADER } from './x402.js'

/**
 * A window that one payment buys instead of one call. Calls in the window are free. It ends with its period, or with the
 * last of its `calls`, whichever is first.
 */
export interface Subscription {
  /** The price of one window in USD, such as `$5`. */
  readonly price: string
  /** How long a window stays open: a whole number of `ms`, `s`, `m`, `h`, `d` or `w`, such as `30d`; ten years at most. */
  readonly period: string
  /**
   * How many calls a window has, the call that buys it included: 1 to 1,000,000,000. A call that fails does not count.
   * Without it, only the period ends a window.
   */
  readonly calls?: number
}

/** A window that lasts ten years and is called three times a second has fewer. */
export const CALLS_MAX = 1_000_000_000

const WINDOW = {
  // Read where the endpoint is defined.
  price: asGiven<string>(),
  period: periodMs,
  calls: optional(between(1, CALLS_MAX)),
} satisfies Record<keyof Subscription, Option<unknown>>

export const soldWindow = holding(WINDOW, (given, name): Subscription | undefined => {
  if (given === undefined) return undefined
  readOptions(given as object, WINDOW, name)
  return Object.freeze({ ...(given as Subscription) })
})

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

const AMOUNTS_MAX = 20
/** A store counts in whole numbers up to 2^53. */
const UNITS_MAX = 10n ** 15n

const isUnits = (amount: unknown) => usdToBaseUnits(amount) < UNITS_MAX

const BALANCE = {
  amounts: such<readonly string[]>(
    given => Array.isArray(given) && given.length > 0 && given.length <= AMOUNTS_MAX && given.every(isUnits),
    `a list of 1 to ${AMOUNTS_MAX} USD amounts below $1,000,000,000`,
  ),
  period: periodMs,
} satisfies Record<keyof BalanceTerms, Option<unknown>>

/** A frozen copy, its amounts in order and as they are shown; `undefined` where an agent sells no balance. */
export const soldBalance = holding(BALANCE, (given, name): BalanceTerms | undefined => {
  if (given === undefined) return undefined
  const { amounts } = readOptions(given as BalanceTerms, BALANCE, name)
  const inOrder = [...new Set(amounts.map(usdToBaseUnits))].sort((a, b) => (a < b ? -1 : 1))
  const { period } = given as BalanceTerms
  return Object.freeze({ amounts: Object.freeze(inOrder.map(formatUsd)), period })
})

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
export function takesBalance(
  agents: BalanceTerms | undefined,
  { balance, sells, subscription }: { balance?: boolean; sells?: unknown; subscription?: unknown },
): boolean {
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
