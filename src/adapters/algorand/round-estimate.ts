/**
 * The current round for every paid request, at the price of asking the node now and then.
 *
 * Between readings the estimate grows by a round every `roundMs`, which is slower than the network's, and no reading is
 * used for so long that a network that stands still would be overtaken by more than a few rounds.
 */
export interface RoundEstimateOptions {
  readonly readRound: () => Promise<bigint>
  readonly roundMs: number
  readonly nowMs: () => number
}

/** After this a reading is replaced in the background. */
const FRESH_MS = 3_000
/** After this it is not used any more. */
const USABLE_MS = 15_000
/** How long a node that failed is left alone. */
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
    // Counted from the question: the answer may be as old as that.
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
    // Only callers of a node that has not just failed wait; for one that is down, answers come in the background.
    if (failedAtMs !== Number.NEGATIVE_INFINITY) return undefined
    await asking
    return estimate()
  }
}
