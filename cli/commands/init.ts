/** `svc init`: copies a template and makes it a project, which runs, has tests and can be paid before any line of it is changed. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { SvcError, shellWord } from '../../src/domain/index.js'
import { command } from '../define-command.js'
import { json, print, printable } from '../output.js'
import { PACKAGE_FOLDER, TYPESCRIPT_SINCE, typeScriptFlags } from '../package.js'

const run = promisify(execFile)

export const TEMPLATES = ['basic', 'llm', 'oracle'] as const
type Template = (typeof TEMPLATES)[number]

interface Project {
  readonly name: string
  /** The absolute path. */
  readonly folder: string
  readonly template: Template
  /** Whether this Node runs it as it stands. Otherwise `npm run dev` builds it first. */
  readonly runsTypeScript: boolean
}

/** The name in every template: a template is a complete program, and the tests run it. */
const TEMPLATE_NAME = 'my-agent'
/** Where the template has `svc dev --sandbox`. */
const BUILT_FIRST = 'npm run build && svc dev dist/src/index.js --sandbox'
/** npm leaves `.gitignore` out of packages, so templates store it without the dot. */
const GITIGNORE = 'gitignore'

/** @throws SvcError `directory_not_empty` */
async function projectFrom(template: Template, place: string): Promise<Project> {
  const folder = resolve(place)
  const name = nameFrom(basename(folder))
  const runsTypeScript = typeScriptFlags() !== undefined
  await checkEmpty(folder)
  await mkdir(folder, { recursive: true })
  // A template that was run in its own folder leaves these behind.
  const left = /[\\/]templates[\\/][^\\/]+[\\/](node_modules|dist|package-lock\.json)$/
  const filter = (path: string) => !left.test(path)
  await cp(join(PACKAGE_FOLDER, 'templates', template), folder, { recursive: true, filter })
  await rename(join(folder, GITIGNORE), join(folder, `.${GITIGNORE}`))
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (file.isFile())
      await rewrite(join(file.parentPath, file.name), text => text.replaceAll(TEMPLATE_NAME, name))
  const sdk = await sdkFor(folder)
  await rewrite(join(folder, 'package.json'), manifest => fitting(manifest, runsTypeScript, sdk))
  return { name, folder, template, runsTypeScript }
}

/** A name that is valid as a handle and as a package name: 3 to 40 lowercase letters, digits and hyphens. */
export function nameFrom(folder: string): string {
  const plain = folder
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '')
  return plain.length >= 3 ? plain : `agent-${plain}`.replace(/-$/, '')
}

async function checkEmpty(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  const found = (await readdir(folder).catch(() => ['a file'])).filter(name => name !== '.git')
  if (found.length === 0) return
  throw new SvcError(`${relative('', folder) || 'This folder'} is not empty`, 'directory_not_empty')
}

export function fitting(manifest: string, runsTypeScript: boolean, sdk: string | undefined): string {
  const project = JSON.parse(manifest) as Record<'dependencies' | 'scripts', Record<string, string>>
  if (sdk !== undefined) project.dependencies['@svc/sdk'] = sdk
  if (!runsTypeScript) project.scripts.dev = BUILT_FIRST
  return `${JSON.stringify(project, undefined, 2)}\n`
}

/**
 * What the project depends on. Whoever gets the project can install it, so it names no folder of this machine: the commit, where a
 * public remote has it; else this copy, packed into the project. npx fetched its copy from a registry: there the template's version stays.
 */
async function sdkFor(project: string): Promise<string | undefined> {
  if (/[\\/]_npx[\\/]/.test(PACKAGE_FOLDER)) return undefined
  const commit = await commitElsewhere(PACKAGE_FOLDER).catch(() => undefined)
  if (commit !== undefined) return commit
  const isWindows = process.platform === 'win32'
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project]
  // Windows has npm as a script of its shell, which needs the quotes.
  const args = isWindows ? pack.map(word => `"${word}"`) : pack
  const { stdout } = await run('npm', args, { cwd: PACKAGE_FOLDER, shell: isWindows })
  return `file:${(JSON.parse(stdout) as { filename: string }[])[0]!.filename}`
}

/** `undefined` where no remote is known to have the commit. A folder inside another repository has none of its own. */
export async function commitElsewhere(folder: string): Promise<string | undefined> {
  if (!existsSync(join(folder, '.git'))) return undefined
  const git = async (...args: string[]) => (await run('git', args, { cwd: folder })).stdout.trim()
  const url = await git('remote', 'get-url', 'origin')
  const [commit, holders] = [await git('rev-parse', 'HEAD'), await git('branch', '-r', '--contains', 'HEAD')]
  const address = /^https:\/\/[^@]+$/.test(url) ? url : /^git@([^:]+):(.+)$/.exec(url)
  if (!address || !/^\s*origin\//m.test(holders)) return undefined
  return `git+${typeof address === 'string' ? address : `ssh://git@${address[1]}/${address[2]}`}#${commit}`
}

async function rewrite(path: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(path, 'utf8')
  const changed = change(text)
  if (changed !== text) await writeFile(path, changed)
}

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
