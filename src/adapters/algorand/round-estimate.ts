/**
 * An estimate of the current round for every paid request, with few requests to the node.
 *
 * Between readings the estimate grows by one round in `roundMs`, more slowly than the network. A reading is used only for a
 * short time, so that the estimate is at most a few rounds ahead of a network that has stopped.
 */
export interface RoundEstimateOptions {
  readonly readRound: () => Promise<bigint>
  readonly roundMs: number
  readonly nowMs: () => number
}

/** After this time a reading is renewed in the background. */
const FRESH_MS = 3_000
/** After this time a reading is not used. */
const USABLE_MS = 15_000
/** The pause before a node that failed is asked again. */
const LEFT_ALONE_MS = 5_000

export function roundEstimate({
  readRound,
  roundMs,
  nowMs,
}: RoundEstimateOptions): () => Promise<bigint | undefined> {
  let reading: { round: bigint; atMs: number } | undefined
  let failedAtMs = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    // The reading's age counts from the request: the response may be as old as that.
    const atMs = nowMs()
    try {
      reading = { round: await readRound(), atMs }
      failedAtMs = Number.NEGATIVE_INFINITY
    } catch {
      failedAtMs = nowMs()
    } finally {
      asking = undefined
    }
  }

  function estimate(): bigint | undefined {
    if (!reading) return undefined
    const ageMs = nowMs() - reading.atMs
    return ageMs < USABLE_MS ? reading.round + BigInt(Math.floor(ageMs / roundMs)) : undefined
  }

  return async () => {
    const now = nowMs()
    const fresh = reading !== undefined && now - reading.atMs < FRESH_MS
    if (!fresh && now - failedAtMs >= LEFT_ALONE_MS) asking ??= ask()
    const known = estimate()
    if (known !== undefined || !asking) return known
    // Callers wait for the first reading. After a failure they do not wait: the node is asked in the background.
    if (failedAtMs !== Number.NEGATIVE_INFINITY) return undefined
    await asking
    return estimate()
  }
}
