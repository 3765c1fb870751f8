/** Of `npm run docs`: writes docs/error-codes.md, what the source says of each code. A test fails while it is stale. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { table } from './commands.mjs'
import { ROOT } from './documents-index.mjs'

const HEAD = `# Error codes

Every code, as \`svc explain <code>\` and the answers say it, made by \`npm run docs\`. [Errors](guides/errors.md) tells where they stand, and
whether a call was charged.
`

const CHARGED = {
  yes: 'yes',
  earlier: 'by an earlier call',
  maybe: 'maybe',
  balance: 'from the balance',
  no: 'no',
}

/** Of rows that say the same: one, under all their codes. */
function joined(rows) {
  const says = ({ words, status, exit }) => `${status ?? exit} ${words}`
  return [...new Set(rows.map(says))].map(said => {
    const alike = rows.filter(row => says(row) === said)
    return { ...alike[0], codes: alike.map(({ code }) => `\`${code}\``).join(', ') }
  })
}

/** The page, from the tables that answers and commands say. */
export async function errorCodesPage() {
  const [{ ANSWER_CODES }, { OUTCOMES }, { ERROR_CODES }] = await Promise.all(
    ['src/domain/answer-codes.js', 'src/domain/machines/charge.machine.js', 'cli/error-codes.js'].map(
      file => import(join(ROOT, 'dist', file)),
    ),
  )
  const chargedAt = {
    answer_not_written: 'its field `charged` says it',
    ...Object.fromEntries(Object.values(OUTCOMES).map(({ code, charged }) => [code, CHARGED[charged]])),
  }
  const ofServers = Object.entries(ANSWER_CODES).map(([title, rows]) => [
    title,
    table(
      ['code', 'status', 'this call was charged', 'what happened, and what to do'],
      joined(rows).map(row => [row.codes, String(row.status), chargedAt[row.code] ?? 'no', row.words]),
    ),
  ])
  const ofPrograms = Object.entries(ERROR_CODES).map(([title, rows]) => [
    title,
    table(
      ['code', 'exit', 'what happened, and what to do'],
      joined(rows).map(row => [row.codes, String(row.exit), row.words]),
    ),
  ])
  return HEAD + [...ofServers, ...ofPrograms].map(([title, rows]) => `\n## ${title}\n${rows}`).join('')
}

if (import.meta.filename === process.argv[1])
  writeFileSync(join(ROOT, 'docs/error-codes.md'), await errorCodesPage())
