/** `svc init`: makes a new agent from a template. The agent runs, has tests and can be paid before any line is changed. */
import { shellWord } from '../../src/domain/index.js'
import { command } from '../command.js'
import { json, print, printable } from '../output.js'
import { TYPESCRIPT_SINCE } from '../package.js'
import { projectFrom, TEMPLATES } from '../project.js'

export const initCommand = command({
  name: 'init',
  says: 'start an agent from a template',
  takes: [['<dir>', 'where; the agent is named after it']],
  flags: [
    ['--template <template>', 'what to start from', { choices: TEMPLATES, default: 'basic' }],
    ['--json', 'print what was made as JSON'],
  ],
  help: `
Templates:
  basic   one endpoint that echoes
  llm     completions, priced by the tokens that are asked for
  oracle  price quotes, signed with an Algorand key

Example:
  $ svc init my-agent --template llm`,
}).does(async (folder, flags) => {
  const made = await projectFrom(flags.template, folder)
  if (flags.json) return print(json(made, 'indented'))
  print(
    `${made.name} is in ${printable(made.folder)}. Next:`,
    '',
    ...(folder === '.' ? [] : [`  cd ${shellWord(printable(folder))}`]),
    '  npm install',
    '  npm run dev',
    '',
    'That runs it on a sandbox, with play money. README.md there tells how to sell for real.',
    ...(made.runsTypeScript ? [] : ['', builtFirst()]),
  )
})

function builtFirst(): string {
  return (
    `Node ${process.versions.node} does not run TypeScript, so npm run dev builds it first: run npx tsc --watch in another ` +
    `terminal, and it starts anew at each change. With Node ${TYPESCRIPT_SINCE} or newer, "dev" can be: svc dev --sandbox`
  )
}
