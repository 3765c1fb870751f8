/** `npm run explore`: walks the cases whose names begin so, all without one, and publishes what came of it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { exploreBalance } from './balance.js'
import { BALANCE_CASES } from './balance-world.js'
import { CASES_OF_THREE, CASES_OF_TWO } from './cases.js'
import { explore } from './explore.js'
import { type Figures, figuresOf } from './figures.js'
import type { Case } from './world.js'

const STATES_MAX = 60_000_000
/** From the repository's root. `svc machines --prove` prints it. */
const PUBLISHED = 'docs/machines/explored.json'

const wanted = process.argv.slice(2)
const of = (plan: Case) => {
  const { violations, ...explored } = explore(plan, { statesMax: STATES_MAX })
  const labels = [...violations].map(([rule, trace]) => [rule, trace.map(({ label }) => label)] as const)
  return { ...explored, violations: new Map(labels) }
}
const plans = [
  ...[...CASES_OF_TWO, ...CASES_OF_THREE].map(plan => ({ ...plan, explored: () => of(plan) })),
  ...BALANCE_CASES.map(plan => ({ ...plan, explored: () => exploreBalance(plan) })),
]
const published: readonly Figures[] = JSON.parse(readFileSync(PUBLISHED, 'utf8'))
const figures = new Map(published.map(one => [one.name, one]))
for (const plan of plans) {
  if (wanted.length > 0 && !wanted.some(words => plan.name.startsWith(words))) continue
  const cpuFrom = process.cpuUsage()
  const explored = plan.explored()
  const { user, system } = process.cpuUsage(cpuFrom)
  const seconds = Math.round((user + system) / 100_000) / 10
  const walked = figuresOf(plan, explored)
  const { name, checked, steps, depth, refuted } = walked
  figures.set(name, walked)
  console.log(`${name}: ${checked} states, ${steps} steps, depth ${depth}, ${seconds} s of CPU`)
  if (refuted.length > 0) process.exitCode = 1
  for (const rule of refuted) {
    const trace = explored.violations.get(rule) ?? []
    console.log([`BROKEN: ${rule}`, ...trace.map(label => `  ${label}`)].join('\n'))
  }
}
writeFileSync(
  PUBLISHED,
  `${JSON.stringify(
    plans.flatMap(({ name }) => figures.get(name) ?? []),
    null,
    2,
  )}\n`,
)
