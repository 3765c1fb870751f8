/** `npm run simulate`: episodes, one after the other, until one fails or there have been enough. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { episode } from './episode.js'
import { INVARIANTS, type Invariant } from './invariants/names.js'
import { MetPairs, RANDOM_ROWS } from './pairs.js'
import { type Failure, smallest } from './shrink.js'

const USAGE = `npm run simulate -- [options]

  --seed n       the first seed                             (default 1)
  --seeds n      how many episodes, each of the next seed   (default 300)
  --calls n      stop after so many calls instead
  --minutes n    stop after so many minutes instead
  --keep-going   list every seed that fails, instead of looking into the first
  --random-rows  draw each episode's features at random, instead of from the covering array in turn
  --matrix       show how often each pair of features met
  --replay file  show a failure that was found, step by step`

const SAY_EVERY_MS = 2_000
const SEEDS = 300
const MISSING_SHOWN = 10

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    calls: { type: 'string' },
    minutes: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
    replay: { type: 'string' },
    matrix: { type: 'boolean', default: false },
    'random-rows': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(USAGE)
else if (values.replay !== undefined) await replay(JSON.parse(readFileSync(values.replay, 'utf8')))
else await simulate()

async function simulate(): Promise<void> {
  const first = numberOf('seed', values.seed)
  const isOtherwiseBounded = values.calls !== undefined || values.minutes !== undefined
  const seeds = numberOf('seeds', values.seeds, isOtherwiseBounded ? Number.POSITIVE_INFINITY : SEEDS)
  const callsMax = numberOf('calls', values.calls, Number.POSITIVE_INFINITY)
  const startedMs = performance.now()
  const untilMs = startedMs + numberOf('minutes', values.minutes, Number.POSITIVE_INFINITY) * 60_000
  const sum = { episodes: 0, calls: 0, requests: 0, charges: 0, faults: 0, failures: 0 }
  const finals = new Map<string, number>()
  const met = new MetPairs()
  const rate = () => Math.round(sum.calls / ((performance.now() - startedMs) / 1_000))
  const say = () =>
    console.log(
      `${sum.episodes} episodes, ${sum.calls} calls, ${sum.charges} charges, ${sum.faults} faults; ${rate()} calls a second`,
    )
  let saidMs = startedMs
  for (
    let seed = first;
    seed < first + seeds && sum.calls < callsMax && performance.now() < untilMs;
    seed++
  ) {
    const ended = await episode({ seed: `${values['random-rows'] ? RANDOM_ROWS : ''}${seed}` })
    sum.episodes++
    sum.calls += ended.calls
    sum.requests += ended.requests
    sum.charges += ended.charges
    sum.faults += ended.strikes.length
    met.add(ended.met)
    for (const [final, count] of Object.entries(ended.finals))
      finals.set(final, (finals.get(final) ?? 0) + count)
    const violation = ended.violations[0]
    if (violation) {
      sum.failures++
      process.exitCode = 1
      console.log(`seed ${ended.seed}: ${violation.invariant}: ${violation.detail}`)
      if (!values['keep-going']) return explain(await smallest(ended))
    }
    if (performance.now() - saidMs < SAY_EVERY_MS) continue
    saidMs = performance.now()
    say()
  }
  say()
  const ends = [...finals]
    .sort(([, one], [, other]) => other - one)
    .map(([final, count]) => `${final} ${count}`)
  console.log(`how calls ended: ${ends.join(', ')}`)
  console.log(`pairs of features that met: ${met.count} of ${met.all.size}`)
  for (const pair of met.missing.slice(0, values.matrix ? Infinity : MISSING_SHOWN))
    console.log(`  not yet: ${pair}`)
  if (values.matrix) console.log(`\n${met.matrix()}\n`)
  console.log(sum.failures === 0 ? 'no invariant was violated' : `${sum.failures} seeds failed`)
}

async function explain(failure: Failure): Promise<void> {
  const file = `simulation-${failure.seed}.json`
  writeFileSync(file, `${JSON.stringify(failure, null, 2)}\n`)
  console.log(`\n${failure.only.length} faults and acts are enough:`)
  for (const name of failure.only) console.log(`  ${name}`)
  await replay(failure)
  console.log(`\nto see it again: npm run simulate -- --replay ${file}`)
}

/** Every line of the episode; a call's line is its path on the drawing. */
async function replay({ seed, invariant, only }: Failure): Promise<void> {
  console.log(`\nseed ${seed}, ${invariant}: ${INVARIANTS[invariant as Invariant]}\n`)
  const { violations } = await episode({ seed, only: new Set(only), onLine: line => console.log(line) })
  process.exitCode = violations.length > 0 ? 1 : 0
}

function numberOf(name: string, text: string | undefined, otherwise = Number.NaN): number {
  const number = text === undefined ? otherwise : Number(text)
  if (number > 0) return number
  console.error(`--${name} is a positive number\n\n${USAGE}`)
  process.exit(2)
}
