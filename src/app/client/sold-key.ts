/** What a seller says of a key that it sold, in the head of its answers, and what its count of calls is worth. */

export const SUBSCRIPTION_HEADER = 'x-svc-subscription'
export const SUBSCRIPTION_EXPIRES_HEADER = 'x-svc-subscription-expires'
export const SUBSCRIPTION_REMAINING_HEADER = 'x-svc-subscription-remaining'

/** A window that was bought, and the key that opens it. */
export interface ActiveSubscription {
  /** The endpoint, without query: the address that its quote named, where that is of the origin that was asked. */
  readonly url: string
  /** Sent instead of a payment. Every holder of the key can use the window. */
  readonly key: string
  /** Milliseconds since the epoch; absent where the seller did not say. */
  readonly expiresAt?: number
  /**
   * How many calls it still has: as the last answer said, and no fewer than were quoted and not used by this client; absent
   * where the seller counts none, or has not said.
   */
  readonly remaining?: number
}

/** A key, with what is known of its window. */
export interface SoldKey {
  readonly key: string
  readonly expiresAt?: Date | string | number
  readonly remaining?: number
}

const KEY = /^[\x21-\x7e]{1,4096}$/

/** Whether a header can carry it. */
export function isKey(key: unknown): key is string {
  return typeof key === 'string' && KEY.test(key)
}

/** The key in an answer's headers; `undefined` where there is none, or none that a header can carry. */
export function soldIn(headers: Headers): SoldKey | undefined {
  const key = headers.get(SUBSCRIPTION_HEADER)
  if (key === null || !isKey(key)) return undefined
  const endMs = Date.parse(headers.get(SUBSCRIPTION_EXPIRES_HEADER) ?? '')
  const remaining = remainingIn(headers)
  return {
    key,
    ...(!Number.isNaN(endMs) && { expiresAt: endMs }),
    ...(remaining !== undefined && { remaining }),
  }
}

export function remainingIn(headers: Headers): number | undefined {
  const remaining = headers.get(SUBSCRIPTION_REMAINING_HEADER)
  return remaining !== null && /^\d{1,10}$/.test(remaining) ? Number(remaining) : undefined
}

/** The calls that are left by the quote and by the seller: whichever is more, for only the quote was agreed. */
export function leftOf(
  calls: number | null | undefined,
  used: number,
  said: number | undefined,
): number | undefined {
  if (calls === undefined) return said
  return calls === null ? undefined : Math.max(calls - used, said ?? 0, 0)
}

/** What is wrong with the seller's count, if anything. */
export function fewerThanSold(
  calls: number | null | undefined,
  used: number,
  said: number | undefined,
): string | undefined {
  if (calls === undefined || said === undefined || (calls !== null && said >= calls - used)) return undefined
  const sold =
    calls === null ? 'was sold without a count' : `was sold with ${calls}, of which ${used} are used`
  return `The seller says that the window has ${said} calls left; it ${sold}. No other is bought before its end`
}

/** The resource of a quote, among those of the origin that was asked: no other origin can speak for this one. */
export function soldAs(url: URL, resource: string): string {
  const named = URL.canParse(resource) ? endpointOf(new URL(resource)) : resource
  return named.startsWith(`${url.origin}/`) ? named : `${url.origin} ${named}`
}

export function endpointOf({ origin, pathname }: URL): string {
  return origin + pathname
}
