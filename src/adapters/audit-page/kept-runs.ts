/**
 * Which runs the server and the page keep: the latest. A fifth of the places is for quotes, so that programs that only ask
 * for prices cannot push the paid calls out.
 */

interface Run {
  readonly final: string
}

/** Forgetting in bulk moves the array once for many runs. */
const SPARE = 1.1
const QUOTES_PER_RUN = 5

/** Returns the same array until it holds a tenth more than `capacity`. Oldest first, before and after. */
export function keptOf<R extends Run>(runs: R[], capacity: number): R[] {
  if (runs.length <= capacity * SPARE) return runs
  const quotes = runs.filter(isQuote).length
  let spareQuotes = Math.min(quotes - Math.ceil(capacity / QUOTES_PER_RUN), runs.length - capacity)
  return runs.filter(run => !(isQuote(run) && spareQuotes-- > 0)).slice(-capacity)
}

export function isQuote({ final }: Run): boolean {
  return final === 'quoted'
}
