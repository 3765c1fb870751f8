/** Of `npm run docs`: writes docs/commands.md, what `--help` says of each command and what two of them print. A test fails while it is stale. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './documents-index.mjs'

const MAIN = join(ROOT, 'dist/cli/main.js')

const HEAD = `# Commands and options

What \`svc <command> --help\` prints, made by \`npm run docs\`. [The command line](guides/cli.md) tells how commands behave: exit codes, output, the wallet.
`

const row = (...cells) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
export const table = (head, rows) =>
  `\n${[row(...head), row(...head.map(() => '---')), ...rows.map(cells => row(...cells))].join('\n')}\n`

/** By command: what stands below its help, from the code that prints it. */
async function printed() {
  const [{ FINDINGS }, { CASES }] = await Promise.all(
    ['audit/reconciliation/audit-findings.js', 'trigger/cases.js'].map(
      file => import(join(ROOT, 'dist/src', file)),
    ),
  )
  return {
    audit: table(
      ['finding', 'what it means, and what to do'],
      Object.entries(FINDINGS).map(([finding, says]) => [`\`${finding}\``, says]),
    ),
    trigger: table(
      ['case', 'what happens', 'what must hold'],
      Object.entries(CASES).map(([name, { says, rule }]) => [`\`${name}\``, says, rule]),
    ),
  }
}

/** The page, with the help of each command and of the commands within it. */
export async function commandsPage() {
  const below = await printed()
  const help = words =>
    execFileSync(process.execPath, [MAIN, ...words, '--help'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    })
  const within = text =>
    [...text.split('\nCommands:\n')[1].matchAll(/^ {2}([a-z]+) /gm)]
      .map(([, name]) => name)
      .filter(name => name !== 'help')
  const section = words => {
    const text = help(words)
    const inner = text.includes('\nCommands:\n') ? within(text).map(name => section([...words, name])) : []
    return [
      `\n## svc ${words.join(' ')}\n\n\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`,
      below[words.join(' ')] ?? '',
      ...inner,
    ].join('')
  }
  return (
    HEAD +
    within(help([]))
      .map(name => section([name]))
      .join('')
  )
}

if (import.meta.filename === process.argv[1])
  writeFileSync(join(ROOT, 'docs/commands.md'), await commandsPage())
