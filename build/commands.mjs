/**
 * Of `npm run docs`: writes docs/commands.md, what `--help` says of each command and what two of them print; with the path of another
 * file, that file. A test fails while it is stale.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
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

/** What `--help` prints of each command. A process for each of forty took 6 s of CPU. */
async function helpOf(names) {
  const program = new Command('svc')
  for (const name of names) {
    const commands = await import(join(ROOT, `dist/cli/commands/${name}.js`))
    commands[`${name}Command`](program)
  }
  return words => {
    let text = ''
    const command = words.reduce(({ commands }, word) => commands.find(each => each.name() === word), program)
    command.configureOutput({
      writeOut: written => {
        text += written
      },
      getOutHelpWidth: () => 80,
      getOutHasColors: () => false,
    })
    command.outputHelp()
    return text
  }
}

/** The page, with the help of each command and of the commands within it. */
async function commandsPage() {
  const below = await printed()
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
  const env = { PATH: process.env.PATH }
  const names = within(execFileSync(process.execPath, [MAIN, '--help'], { encoding: 'utf8', env }))
  const help = await helpOf(names)
  return HEAD + names.map(name => section([name])).join('')
}

if (import.meta.filename === process.argv[1])
  writeFileSync(process.argv[2] ?? join(ROOT, 'docs/commands.md'), await commandsPage())
