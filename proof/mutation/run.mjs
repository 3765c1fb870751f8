/**
 * `npm run mutate [-- scope...] [--force]`: mutates each scope, and fails where a survivor has no reason in `survivors.json`, or a
 * reason no survivor.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { nameOf } from './say-survivors.mjs'
import { SCOPES } from './scopes.mjs'

const asked = process.argv.slice(2).filter(word => !word.startsWith('-'))
const options = process.argv.slice(2).filter(word => word.startsWith('-'))
const scopes = asked.length > 0 ? asked : Object.keys(SCOPES).filter(scope => SCOPES[scope].mutate)
const reasons = JSON.parse(readFileSync(new URL('survivors.json', import.meta.url), 'utf8'))

const rows = scopes.map(scope => {
  const { status } = spawnSync('npx', ['stryker', 'run', 'proof/mutation/stryker.config.mjs', ...options], {
    stdio: 'inherit',
    env: { ...process.env, SVC_MUTATE: scope },
  })
  if (status !== 0) process.exit(status ?? 1)
  return [scope, report(scope)]
})

console.log('\n| scope | mutants | killed | timed out | survived | no coverage | score |')
console.log('|---|---|---|---|---|---|---|')
for (const [scope, { counts }] of rows) {
  const { Killed = 0, Timeout = 0, Survived = 0, NoCoverage = 0 } = counts
  const all = Killed + Timeout + Survived + NoCoverage
  const score = ((100 * (Killed + Timeout)) / all).toFixed(1)
  console.log(`| ${scope} | ${all} | ${Killed} | ${Timeout} | ${Survived} | ${NoCoverage} | ${score} % |`)
}
for (const [scope, { survivors }] of rows) {
  const explained = Object.values(reasons[scope] ?? {}).flat()
  for (const name of survivors)
    if (!explained.includes(name)) fail(`${scope}: survived without a reason: ${name}`)
  for (const name of explained) if (!survivors.includes(name)) fail(`${scope}: is killed by now: ${name}`)
}

function report(scope) {
  const { files } = JSON.parse(readFileSync(`.stryker/${scope}.json`, 'utf8'))
  const counts = {}
  const survivors = []
  for (const [file, { source, mutants }] of Object.entries(files)) {
    for (const { status, replacement, location } of mutants) {
      counts[status] = (counts[status] ?? 0) + 1
      if (status === 'Survived' || status === 'NoCoverage')
        survivors.push(nameOf(file, source, replacement, location))
    }
  }
  return { counts, survivors }
}

function fail(why) {
  console.error(why)
  process.exitCode = 1
}
