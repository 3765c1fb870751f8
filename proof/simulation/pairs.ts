/**
 * The features and circumstances that meet in the simulation, two by two. Each episode with buyers has one row of the covering array,
 * so that all rows come within as many seeds. What is not in the table is rolled as before.
 */
import { coveringArray, type Pair, pairName, pairsOf, pairsOfRow } from './covering-array.js'
import { Dice } from './kernel/dice.js'

export const TABLE = {
  /** Of one seller, with one address, one process and one store. */
  agents: ['one', 'two'],
  store: ['memory', 'redis', 'own'],
  mode: ['none', 'release', 'replay'],
  confirm: ['facilitator', 'chain'],
  /** `in process`: one in each process of the seller, over the seller's own node. */
  facilitators: ['one', 'several', 'hostile', 'in process'],
  /** Of processes, by hours; some are set while they run. */
  clocks: ['together', 'apart', 'jumping'],
  /**
   * Where the agent's paths begin: at the root, under its own `basePath`, or where an app of the seller's mounts it; or its endpoints are
   * routes of an app, behind a gate.
   */
  mount: ['none', 'base path', 'app', 'gate'],
  /** Of a replica, between the payment and the next request for it. */
  stop: ['none', 'drain', 'death'],
  /**
   * What the store forgets: the latest writes, when a replica takes over; of these only such as the seller did not wait for (`waitReplicas`);
   * or everything, as one in memory whose process starts again.
   */
  forgets: ['nothing', 'latest', 'waited', 'everything'],
  /** What the next version changes, between the quote and the payment or after the answer. */
  deploy: ['none', 'price', 'schema', 'mode', 'count', 'facilitators'],
  payer: ['plain', 'multisig', 'logic signature', 'rekeyed'],
  key: ['none', 'short', 'guessable', 'random', 'identifier'],
  proof: ['none', 'right', 'another', 'old'],
  /** A call, a window that ends by time or by its calls, or a balance. */
  sold: ['call', 'time', 'calls', 'balance'],
  /** What the handler says that the call cost: nothing, less than the price, or no amount of money. */
  charge: ['price', 'less', 'wrong'],
  answer: ['small', 'large', 'stream', 'broken stream'],
  door: ['http', 'fetch', 'message', 'task', 'mcp'],
  /** In the seller's process, or in that of a server behind it. */
  runs: ['handler', 'upstream'],
} as const

export type Factor = keyof typeof TABLE
export type Features = { readonly [F in Factor]: (typeof TABLE)[F][number] }

const NO_REPLICA = 'What one process keeps in its memory has no replica: it is there, or all of it is gone.'
const NO_MESSAGES = 'Messages of A2A and MCP cannot run a route of an app: a gate has neither door.'

/** Pairs that cannot exist, and why. */
export const CANNOT: readonly { readonly pair: Pair; readonly because: string }[] = [
  {
    pair: ['store=memory', 'stop=death'],
    because: 'What one process keeps in its memory dies with it, as proof/storage.md says.',
  },
  {
    pair: ['store=memory', 'forgets=latest'],
    because: NO_REPLICA,
  },
  {
    pair: ['store=memory', 'forgets=waited'],
    because: NO_REPLICA,
  },
  {
    pair: ['store=own', 'forgets=waited'],
    because:
      '`waitReplicas` is an option of `redisStores`: a store of one’s own waits or not, as it is written.',
  },
  {
    pair: ['confirm=facilitator', 'facilitators=hostile'],
    because: 'A facilitator whose word settles is trusted: what a hostile one says is believed.',
  },
  {
    pair: ['mount=gate', 'door=message'],
    because: NO_MESSAGES,
  },
  {
    pair: ['mount=gate', 'door=task'],
    because: NO_MESSAGES,
  },
  {
    pair: ['mount=gate', 'door=mcp'],
    because: NO_MESSAGES,
  },
  {
    pair: ['mount=gate', 'runs=upstream'],
    because: 'Behind a gate the route of the app around does the work, in place of any handler.',
  },
  {
    pair: ['mount=app', 'door=fetch'],
    because: 'A handler for fetch sees whole URLs, wherever an app mounts it: its only prefix is `basePath`.',
  },
]

const PAIRS = CANNOT.map(({ pair }) => pair)
const POSSIBLE = pairsOf(TABLE, PAIRS)
export const ROWS = coveringArray(TABLE, PAIRS) as unknown as readonly Features[]

/** Before a seed whose row is drawn at random. */
export const RANDOM_ROWS = 'random-'

/** The same for the same seed. Seeds that follow each other have rows that follow each other, or each has a random one. */
export function featuresOf(seed: string): Features {
  return seed.startsWith(RANDOM_ROWS)
    ? randomRow(new Dice(`${seed}/row`))
    : ROWS[(Number.parseInt(seed, 10) || 0) % ROWS.length]!
}

/** Three and more features meet in these, as they do not in the array's rows. */
function randomRow(dice: Dice): Features {
  for (;;) {
    const row = Object.fromEntries(
      Object.entries(TABLE).map(([factor, values]) => [factor, dice.pick(values)]),
    )
    if (pairsOfRow(row).every(pair => POSSIBLE.has(pair))) return row as Features
  }
}

/** Which pairs have met in calls that reached their delivery, or the refusal that the rules want. */
export class MetPairs {
  readonly #met = new Map<string, number>()
  readonly all = POSSIBLE

  add(pairs: readonly string[]): void {
    for (const pair of pairs) this.#met.set(pair, (this.#met.get(pair) ?? 0) + 1)
  }

  get count(): number {
    return this.#met.size
  }

  get missing(): readonly string[] {
    return [...this.all.keys()].filter(pair => !this.#met.has(pair))
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
