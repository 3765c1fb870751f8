/**
 * The features and circumstances that meet in the simulation, two by two. Each episode with buyers has one row of the covering array,
 * so that all rows come within as many seeds. What is not in the table is rolled as before.
 */
import { coveringArray, type Pair, pairName, pairsOf, pairsOfRow } from './covering-array.js'

export const TABLE = {
  /** Of one seller, with one address, one process and one store. */
  agents: ['one', 'two'],
  store: ['memory', 'redis', 'own'],
  mode: ['none', 'release', 'replay'],
  confirm: ['facilitator', 'chain'],
  facilitators: ['one', 'several', 'hostile'],
  /** Of processes, by hours. */
  clocks: ['together', 'apart'],
  /** Of a replica, between the payment and the next request for it. */
  stop: ['none', 'drain', 'death'],
  /** What the next version changes, between the quote and the payment or after the answer. */
  deploy: ['none', 'price', 'schema', 'mode', 'count', 'facilitators'],
  payer: ['plain', 'multisig', 'rekeyed'],
  key: ['none', 'short', 'guessable', 'random', 'identifier'],
  proof: ['none', 'right', 'another', 'old'],
  sold: ['call', 'time', 'calls'],
  answer: ['small', 'large', 'stream', 'broken stream'],
  door: ['http', 'fetch', 'message', 'task', 'mcp'],
} as const

export type Factor = keyof typeof TABLE
export type Features = { readonly [F in Factor]: (typeof TABLE)[F][number] }

/** Pairs that cannot exist, and why. */
export const CANNOT: readonly { readonly pair: Pair; readonly because: string }[] = [
  {
    pair: ['store=memory', 'stop=death'],
    because: 'What one process keeps in its memory dies with it, as proof/storage.md says.',
  },
  {
    pair: ['confirm=facilitator', 'facilitators=hostile'],
    because: 'A facilitator whose word settles is trusted: what a hostile one says is believed.',
  },
]

const PAIRS = CANNOT.map(({ pair }) => pair)
export const ROWS = coveringArray(TABLE, PAIRS) as unknown as readonly Features[]

/** The same for the same seed. Seeds that follow each other have rows that follow each other. */
export function featuresOf(seed: string): Features {
  return ROWS[(Number.parseInt(seed, 10) || 0) % ROWS.length]!
}

/** Which pairs have met in calls that reached their delivery, or the refusal that the rules want. */
export class MetPairs {
  readonly #met = new Map<string, number>()
  readonly all = pairsOf(TABLE, PAIRS)

  add(pairs: readonly string[]): void {
    for (const pair of pairs) this.#met.set(pair, (this.#met.get(pair) ?? 0) + 1)
  }

  get count(): number {
    return this.#met.size
  }

  get missing(): readonly string[] {
    return [...this.all].filter(pair => !this.#met.has(pair))
  }

  /** A row for each value, a column for each factor: how often the rarest of its pairs met. */
  matrix(): string {
    const factors = Object.entries(TABLE)
    const names = factors.map(([factor]) => factor)
    const least = (value: string, factor: string): string => {
      const [own] = value.split('=')
      if (own === factor) return '·'
      const counts = TABLE[factor as Factor].flatMap(other => {
        const name = pairName(value, `${factor}=${other}`)
        return this.all.has(name) ? (this.#met.get(name) ?? 0) : []
      })
      return String(Math.min(...counts))
    }
    const lines = factors.flatMap(([factor, values]) =>
      values.map(
        value =>
          `| ${factor}: ${value} | ${names.map(name => least(`${factor}=${value}`, name)).join(' | ')} |`,
      ),
    )
    return [`| | ${names.join(' | ')} |`, `|---|${names.map(() => '--:').join('|')}|`, ...lines].join('\n')
  }
}

/** The pairs of these factors alone. */
export function pairsAmong(features: Features, factors: readonly Factor[]): string[] {
  return pairsOfRow(Object.fromEntries(factors.map(factor => [factor, features[factor]])))
}
