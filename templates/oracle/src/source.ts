/** Where prices come from. */
import { SvcError } from '@svc/sdk'

/** The price of a pair, as a decimal. */
export type Source = (pair: string, signal: AbortSignal) => Promise<string>

/**
 * `PRICE_URL` has `{base}` and `{quote}` in it and answers JSON with a `price`. The built-in prices stand in on a sandbox
 * only: signed and sold, they would be lies.
 */
export function sourceFrom({ PRICE_URL: url, SVC_SANDBOX: sandbox }: NodeJS.ProcessEnv): Source {
  if (url) return httpSource(url)
  if (sandbox) return offlineSource
  throw new Error('Set PRICE_URL to a source of prices; only a sandbox gets the built-in ones.')
}

const OFFLINE: Readonly<Record<string, string>> = {
  'ALGO/USD': '0.2',
  'BTC/USD': '100000',
  'ETH/USD': '4000',
}

export const offlineSource: Source = async pair => {
  const price = OFFLINE[pair]
  if (price === undefined) throw unknownPair(pair)
  return price
}

export function httpSource(template: string): Source {
  return async (pair, signal) => {
    const [base = '', quote = ''] = pair.split('/').map(encodeURIComponent)
    const url = template.replace('{base}', base).replace('{quote}', quote)
    const response = await fetch(url, { signal }).catch(() => undefined)
    if (response?.status === 404) throw unknownPair(pair)
    const answer: unknown = response?.ok ? await response.json().catch(() => undefined) : undefined
    const price = String((answer as { price?: unknown } | undefined)?.price)
    // Thrown, so that the caller is not charged. What is no plain decimal is not signed.
    if (!/^\d{1,20}(\.\d{1,20})?$/.test(price))
      throw new SvcError('No price at the moment', 'source_failed', 502)
    return price
  }
}

function unknownPair(pair: string): SvcError {
  return new SvcError(`There is no price of ${pair} here`, 'unknown_pair', 404)
}
