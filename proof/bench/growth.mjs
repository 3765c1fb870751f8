/** What an operation takes as the work grows: ten times as much of it each time, in a process of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { settledRun, writeJournal } from './journal-lines.mjs'
import { inMarket } from './market.mjs'
import { measure } from './process.mjs'
import { markdown, median, number } from './table.mjs'

const TENFOLD = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]
/** `largest` is for `--largest`: it takes minutes, and gigabytes of disk. */
const KINDS = [
  { kind: 'endpoints', title: 'an unpaid call, of so many endpoints', to: 10_000, operations: 20_000 },
  {
    kind: 'windows',
    title: 'a call taken and counted, of so many live windows',
    to: 1_000_000,
    operations: 200_000,
  },
  { kind: 'redisWindows', title: 'the same, on Redis', to: 1_000_000, operations: 20_000 },
  {
    kind: 'payers',
    title: 'a run of credit taken and given back, of so many payers',
    to: 100_000,
    operations: 200_000,
  },
  {
    kind: 'journals',
    title: '`svc audit`, a line of so many',
    from: 10_000,
    to: 1_000_000,
    largest: 10_000_000,
  },
]

export const growing = KINDS.map(({ kind }) => kind)

export function growth(kind) {
  return bench =>
    inMarket(bench, market =>
      sizesInTurn(
        KINDS.find(each => each.kind === kind),
        bench,
        market,
      ),
    )
}

async function sizesInTurn({ kind, title, from = 1, to, largest = to, operations }, bench, market) {
  const sizes = TENFOLD.filter(size => size >= from && size <= (bench.largest ? largest : to))
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const ran = settledRun(bench.parties.payer)
  const found = sizes.map(size => ({ size, rounds: [] }))
  try {
    for (let round = 0; round < bench.rounds; round++) {
      for (const { size, rounds } of found) {
        const path = join(folder, `${size}.jsonl`)
        if (kind === 'journals' && round === 0) await writeJournal(path, size, { ran, payTo: bench.payTo })
        const redis = kind === 'redisWindows' ? await market.redis() : undefined
        const own = { path, ran, redisUrl: redis?.url }
        const took = await measure('growing', { ...market.place, kind, size, operations, ...own })
        const redisBytes = redis && { itemBytes: (await redis.memoryBytes()) / size }
        rounds.push({ ...took, ...redisBytes })
        process.stderr.write(`  ${size}: ${took.eachUs.toFixed(2)} µs\n`)
        await redis?.stop()
      }
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  return { title, found }
}

export function growthTableOf(rows) {
  const heads = [
    '',
    'CPU each',
    'of rounds',
    'against the smallest',
    'in Redis',
    'to set up one',
    'memory of one',
  ]
  return markdown(heads, rows.flatMap(linesOf))
}

function linesOf({ title, found }) {
  const of = (rounds, what) => rounds.map(round => round[what])
  const least = median(of(found[0].rounds, 'eachUs'))
  const lines = found.map(({ size, rounds }) => {
    const us = of(rounds, 'eachUs')
    const typical = what => median(of(rounds, what))
    // Of few things, what is measured is the code that was compiled meanwhile.
    const many = size >= 1_000
    return [
      size.toLocaleString('en'),
      `${number(median(us))} µs`,
      `${number(Math.min(...us))} – ${number(Math.max(...us))}`,
      (median(us) / least).toFixed(2),
      typical('eachRedisUs') ? `${number(typical('eachRedisUs'))} µs` : '',
      many && typical('buildUs') ? `${number(typical('buildUs'))} µs` : '',
      many ? `${number(typical('itemBytes'))} B` : '',
    ]
  })
  return [[`**${title}**`], ...lines]
}
