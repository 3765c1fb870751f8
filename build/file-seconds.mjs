/**
 * Renews test/file-seconds.json from vitest's report as JSON: `npm run test:all -- --reporter=json --outputFile=report.json`, then
 * `node build/file-seconds.mjs report.json`. Files that the report does not have keep their seconds; files that are gone lose them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const kept = new URL('../test/file-seconds.json', import.meta.url)
const [report] = process.argv.slice(2)
if (report === undefined) {
  console.error('usage: node build/file-seconds.mjs <report of vitest as JSON>')
  process.exit(2)
}

const seconds = existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {}
for (const { name, startTime, endTime } of JSON.parse(readFileSync(report, 'utf8')).testResults)
  if (endTime > startTime) seconds[relative(root, name)] = Math.round((endTime - startTime) / 100) / 10
const longestFirst = Object.entries(seconds)
  .filter(([file]) => existsSync(`${root}/${file}`))
  .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
writeFileSync(kept, `${JSON.stringify(Object.fromEntries(longestFirst), null, 2)}\n`)
console.log(`${longestFirst.length} files; the longest is ${longestFirst[0]?.[0]}`)
