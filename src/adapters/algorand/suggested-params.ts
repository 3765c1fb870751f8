import type { Algod, SuggestedParams } from './node-clients.js'

/**
 * Asks the node once for all payments of a few seconds. A failure is not cached: the next payment asks again.
 */
export function cachedParams(
  algod: Pick<Algod, 'suggestedParams'>,
  maxAgeMs: number,
  monotonicMs: () => number,
): () => Promise<SuggestedParams> {
  let cached: Promise<SuggestedParams> | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  return () => {
    if (cached && monotonicMs() - readAtMs < maxAgeMs) return cached
    readAtMs = monotonicMs()
    const asked = algod.suggestedParams()
    cached = asked
    asked.catch(() => {
      if (cached === asked) cached = undefined
    })
    return asked
  }
}
