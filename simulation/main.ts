/** `npm run simulate`: many episodes, one after the other, until one fails or the time is up. */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Episode, episode } from './episode.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    calls: { type: 'string' },
    minutes: { type: 'string' },
    replay: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
  },
})

const first = Number(values.seed ?? 1)
const seedsMax = Number(
  values.seeds ?? (values.minutes || values.calls ? Number.POSITIVE_INFINITY : values.seed ? 1 : 200),
)
const callsMax = Number(values.calls ?? Number.POSITIVE_INFINITY)
const untilMs = values.minutes ? Date.now() + Number(values.minutes) * 60_000 : Number.POSITIVE_INFINITY

const sum = { episodes: 0, calls: 0, requests: 0, charges: 0 }
const finals: Record<string, number> = {}
const startedMs = Date.now()
let saidMs = startedMs
let failure: Episode | undefined
for (let seed = first; seed < first + seedsMax && sum.calls < callsMax && Date.now() < untilMs; seed++) {
  const ended = await episode({ seed: String(seed) })
  sum.episodes++
  sum.calls += ended.calls
  sum.requests += ended.requests
  sum.charges += ended.charges
  for (const [final, count] of Object.entries(ended.finals)) finals[final] = (finals[final] ?? 0) + count
  if (ended.violations.length > 0) {
    if (!values['keep-going']) {
      failure = ended
      break
    }
    console.log(
      `seed ${seed}: ${ended.violations[0]!.invariant}: ${ended.violations[0]!.detail.slice(0, 300)}`,
    )
  }
  if (Date.now() - saidMs > 2_000) {
    saidMs = Date.now()
    say()
  }
}
say()
console.log(finals)
if (failure) {
  const { seed, violations, strikes, conditions } = failure
  console.log(`seed ${seed} fails:`, violations[0], { strikes: strikes.length, conditions })
  const lines: string[] = []
  await episode({ seed, onLine: line => lines.push(line) })
  writeFileSync(`/tmp/trace-${seed}.txt`, lines.join('\n'))
  process.exitCode = 1
}

function say(): void {
  const seconds = (Date.now() - startedMs) / 1_000
  console.log(
    `${sum.episodes} episodes, ${sum.calls} calls, ${sum.requests} requests, ${sum.charges} charges, ${Math.round(sum.calls / seconds)} calls/s`,
  )
}
