/**
 * The quotes that calls with `quote: 'cached'` were paid at. HTTP's own cache headers do not count: sellers forbid caches to
 * keep a 402, and a kept quote is no answer, only terms that the next payment tries.
 */
import type { PaymentRequired, PaymentRequirements } from '../../domain/x402.js'
import type { HttpRequest } from './build-request.js'
import type { HttpReply } from './send-request.js'

export interface KeptQuote {
  /** Of the request that was paid: a GET where the endpoint wanted one. */
  readonly method: string
  readonly challenge: PaymentRequired
}

type Asked = Pick<HttpRequest, 'url' | 'method' | 'body'>

export interface KeptQuotes {
  of(request: Asked): KeptQuote | undefined
  /** Keeps a quote that was paid and delivered for, unless the endpoint is distrusted. */
  keep(request: Asked, quote: KeptQuote, accepted: PaymentRequirements): void
  forget(request: Asked): void
  /**
   * The endpoint refused a payment at its kept quote: its price may depend on the body, or its quotes hold once. Such an
   * endpoint is asked before each call for a while, because a refused payment costs a trip and counts against the cap.
   */
  distrust(request: Asked): void
}

const QUOTES_MAX = 256
/** Also how long a distrusted endpoint is asked. A seller could quote a year. */
const AGE_MAX_MS = 300_000
/** A quote fits into a header. In a body it could take 16 MB. */
const KEPT_BYTES_MAX = 16_384

interface Entry {
  readonly quote?: KeptQuote
  readonly endMs: number
}

export function keptQuotes(monotonicMs: () => number): KeptQuotes {
  // The least recently used is the first.
  const entries = new Map<string, Entry>()

  function current(name: string): Entry | undefined {
    const entry = entries.get(name)
    entries.delete(name)
    if (!entry || entry.endMs <= monotonicMs()) return undefined
    entries.set(name, entry)
    return entry
  }

  function put(name: string, entry: Entry): void {
    entries.delete(name)
    entries.set(name, entry)
    if (entries.size > QUOTES_MAX) entries.delete(entries.keys().next().value!)
  }

  return {
    of: request => current(nameOf(request))?.quote,
    keep(request, quote, { maxTimeoutSeconds }) {
      const name = nameOf(request)
      if (current(name)) return
      const endMs = monotonicMs() + Math.min(maxTimeoutSeconds * 1_000, AGE_MAX_MS)
      put(name, { quote, endMs })
    },
    forget(request) {
      const name = nameOf(request)
      if (current(name)?.quote) entries.delete(name)
    },
    distrust: request => put(nameOf(request), { endMs: monotonicMs() + AGE_MAX_MS }),
  }
}

/** Without a body, a request may have become a GET. */
function nameOf({ url, method, body }: Asked): string {
  return `${method} ${body === undefined ? 'empty' : 'body'} ${url.href}`
}

/** Whether keeping the challenge of this 402 takes little memory. */
export function isSmall({ bytes }: Pick<HttpReply, 'bytes'>): boolean {
  return bytes.length <= KEPT_BYTES_MAX
}
