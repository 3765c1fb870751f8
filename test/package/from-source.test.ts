/** Specification 1.9: the package is on no registry and is installed from source, from a git URL or from a folder. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const INSTALL_MS = 900_000
/** What git would not hold: the clones below have only what a stranger's clone has. */
const NOT_SOURCES = new Set(['.git', 'node_modules', 'dist'])

let folder: string
let repository: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-from-source-'))
  repository = join(folder, 'repository')
  await cp(root, repository, { recursive: true, filter: path => !NOT_SOURCES.has(relative(root, path)) })
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  for (const command of [
    ['init', '-q'],
    ['add', '-A'],
    [...author, 'commit', '-qm', 'The sources'],
  ])
    await run('git', command, { cwd: repository })
}, INSTALL_MS)
afterAll(() => rm(folder, { recursive: true, force: true }), INSTALL_MS)

it('1.9: npm install <git URL> brings the command and what can be imported', {
  timeout: INSTALL_MS,
}, async () => {
  const project = await emptyProject('by-url')
  await install(project, `git+${pathToFileURL(repository)}`)
  await expectUsable(project)
})

it('1.9: npm install <folder of a fresh clone> does so, too, and runs and writes nothing else', {
  timeout: INSTALL_MS,
}, async () => {
  const clone = join(folder, 'clone')
  await run('git', ['clone', '-q', repository, clone])
  const project = await emptyProject('by-folder')
  // The settings of a production install must not keep the compiler from the sources.
  const { stdout } = await install(project, clone, { NODE_ENV: 'production' })
  await expectUsable(project)
  expect(stdout.match(/^> .*$/gm)).toEqual(['> @svc/sdk@0.1.0 prepare', '> node build/prepare.mjs'])
  const { stdout: status } = await run('git', ['status', '--porcelain', '--ignored'], { cwd: clone })
  expect(status.trim().split('\n')).toEqual(['!! dist/', '!! node_modules/'])
})

it('of the scripts that npm runs by itself while installing there is prepare alone', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const byItself = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare']
  expect(byItself.filter(name => name in scripts)).toEqual(['prepare'])
})

async function emptyProject(name: string): Promise<string> {
  const project = join(folder, name)
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ name, type: 'module', private: true }))
  return project
}

function install(project: string, source: string, env = {}) {
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--foreground-scripts']
  return run('npm', ['install', ...options, source], { cwd: project, env: { ...process.env, ...env } })
}

async function expectUsable(project: string): Promise<void> {
  const version = await run(join(project, 'node_modules/.bin/svc'), ['--version'])
  expect(version.stdout).toBe('0.1.0\n')
  const script = `console.log(typeof (await import('@svc/sdk')).serve)`
  const imported = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: project })
  expect(imported.stdout).toBe('function\n')
}
