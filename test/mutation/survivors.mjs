/** Prints what a report says of its survivors, a line each. */
import { readFileSync } from 'node:fs'

const [, , scope] = process.argv
const { files } = JSON.parse(readFileSync(`.stryker/${scope}.json`, 'utf8'))
const counts = {}
for (const [file, { source, mutants }] of Object.entries(files)) {
  const lines = source.split('\n')
  for (const { status, mutatorName, replacement, location } of mutants) {
    counts[status] = (counts[status] ?? 0) + 1
    if (status !== 'Survived' && status !== 'NoCoverage') continue
    const { start, end } = location
    const was =
      start.line === end.line
        ? lines[start.line - 1].slice(start.column - 1, end.column - 1)
        : `${lines[start.line - 1].slice(start.column - 1)} …`
    console.log(
      `${file.split('/').pop()}:${start.line} [${status === 'Survived' ? '' : 'NC '}${mutatorName}] ${was}  ->  ${replacement?.replace(/\s+/g, ' ')}   | ${lines[start.line - 1].trim()}`,
    )
  }
}
console.log(counts)
