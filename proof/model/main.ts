import { CASES_OF_THREE, CASES_OF_TWO } from './cases.js'
import { explore } from './explore.js'

const STATES_MAX = 60_000_000

const wanted = process.argv.slice(2)
for (const plan of [...CASES_OF_TWO, ...CASES_OF_THREE]) {
  if (wanted.length > 0 && !wanted.some(words => plan.name.startsWith(words))) continue
  const cpuFrom = process.cpuUsage()
  const { states, transitions, depth, isComplete, violations } = explore(plan, { statesMax: STATES_MAX })
  const { user, system } = process.cpuUsage(cpuFrom)
  const seconds = Math.round((user + system) / 100_000) / 10
  const { name } = plan
  console.log(
    `${name}: ${states} states, ${transitions} steps, depth ${depth}, ${seconds} s of CPU${isComplete ? '' : ', cut'}`,
  )
  for (const [rule, trace] of violations) {
    process.exitCode = 1
    console.log([`BROKEN: ${rule}`, ...trace.map(({ label }) => `  ${label}`)].join('\n'))
  }
}
