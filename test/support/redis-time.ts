/** Redis tells the time by its own clock, which no test can turn: the time has to pass. */
const TIMERS_EARLY_MS = 5

export function passed(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms + TIMERS_EARLY_MS))
}
