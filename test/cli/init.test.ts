/** `svc init`: where it writes, what it fills in, what it refuses. That the result runs is in `test/templates`. */
import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitElsewhere, nameFrom } from '../../cli/commands/init.js'
import { NODE_20, NODE_24, nodeBinary } from './nodes.js'
import { ROOT } from './project-folder.js'
import { svc } from './run.js'

/** npm, which takes 2.5 s of CPU to pack: it does so once, and what it made and said is given to whoever asks the same again. */
const NPM_ONCE = `#!/bin/sh
set -e
for project; do :; done
all="$*"
asked="\${all%"$project"}"
kept=$(dirname "$0")
if [ ! -e "$kept/said" ]; then
  PATH="\${PATH#"$kept":}" npm "$@" >"$kept/saying"
  cp "$project"/*.tgz "$kept"
  echo "$asked" >"$kept/asked"
  mv "$kept/saying" "$kept/said"
fi
[ "$asked" = "$(cat "$kept/asked")" ]
cp "$kept"/*.tgz "$project"
cat "$kept/said"
`

let place: string
let PATH: string
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'svc-init-'))
  const npm = join(place, 'npm/npm')
  mkdirSync(dirname(npm))
  writeFileSync(npm, NPM_ONCE)
  chmodSync(npm, 0o755)
  PATH = `${dirname(npm)}:${process.env.PATH}`
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** In the project, not a folder of this machine: this repository has no public remote. */
const SDK = 'file:svc-sdk-0.1.0.tgz'
const TEMPLATES = ['basic', 'llm', 'oracle']

describe('svc init', () => {
  for (const template of TEMPLATES) {
    it(`makes a project of ${template}, named, ignoring what is not source, on this copy of the SDK`, async () => {
      const run = await svc(['init', `Sells ${template}!`, '--template', template], { PATH }, { cwd: place })
      expect(run).toMatchObject({ code: 0, stderr: '' })
      expect(run.stdout).toContain(`  cd 'Sells ${template}!'\n  npm install\n  npm run dev\n`)
      const folder = join(place, `Sells ${template}!`)
      const text = (file: string) => readFileSync(join(folder, file), 'utf8')
      const { name, dependencies } = JSON.parse(text('package.json'))
      expect({ name, sdk: dependencies['@svc/sdk'] }).toEqual({
        name: `sells-${template}`,
        sdk: SDK,
      })
      expect(readdirSync(folder)).toContain('svc-sdk-0.1.0.tgz')
      expect(text('src/agent.ts')).toContain(`handle: 'sells-${template}'`)
      expect(text('.gitignore')).toContain('node_modules/')
      expect(readdirSync(folder)).not.toContain('gitignore')
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })) {
        if (file.isFile() && !file.name.endsWith('.tgz'))
          expect(text(join(file.parentPath.slice(folder.length), file.name))).not.toContain('my-agent')
      }
    })
  }

  it('starts from basic where nothing else is said, and in a folder that is empty but for .git', async () => {
    const folder = mkdtempSync(join(place, 'here-'))
    await promisify(execFile)('mkdir', [join(folder, '.git')])
    const { code, stdout } = await svc(['init', '.', '--json'], { PATH }, { cwd: folder })
    expect({ code, made: JSON.parse(stdout) }).toMatchObject({ code: 0, made: { folder, template: 'basic' } })
  })

  it('builds first on a Node that does not run TypeScript, and says so', async () => {
    const made = async (version: string) => {
      const folder = `on-node-${version}`
      const { stdout } = await svc(
        ['init', folder],
        { PATH },
        { cwd: place, node: await nodeBinary(version) },
      )
      const { scripts } = JSON.parse(readFileSync(join(place, folder, 'package.json'), 'utf8'))
      return { stdout, dev: scripts.dev }
    }
    const [old, current] = [await made(NODE_20), await made(NODE_24)]
    expect(old.dev).toBe('npm run build && svc dev dist/src/index.js --sandbox')
    expect(old.stdout).toContain(`Node ${NODE_20} does not run TypeScript`)
    expect(current.dev).toBe('svc dev --sandbox')
    expect(current.stdout).not.toContain('does not run TypeScript')
  })

  it('refuses a folder with something in it, a file, and a template that does not exist', async () => {
    const folder = mkdtempSync(join(place, 'full-'))
    writeFileSync(join(folder, 'precious.txt'), '')
    const runs = await Promise.all([
      svc(['init', folder]),
      svc(['init', join(folder, 'precious.txt')]),
      svc(['init', join(place, 'new'), '--template', 'nft']),
    ])
    expect(runs.map(({ code }) => code)).toEqual([2, 2, 2])
    expect(runs.map(({ stderr }) => stderr.replace(/.*\((\w+)\)\n/, '$1'))).toEqual([
      'directory_not_empty',
      'directory_not_empty',
      'usage',
    ])
    expect(readdirSync(folder)).toEqual(['precious.txt'])
  })
})

describe('names', () => {
  const names: [string, string][] = [
    ['my-agent', 'my-agent'],
    ['My Agent 2', 'my-agent-2'],
    ['--x--', 'agent-x'],
    ['émile', 'mile'],
    ['', 'agent'],
    ['a'.repeat(60), 'a'.repeat(40)],
    [`${'a'.repeat(39)}-b`, 'a'.repeat(39)],
  ]
  for (const [folder, name] of names) {
    it(`'${folder.slice(0, 12)}' is ${name.slice(0, 12)}`, () => expect(nameFrom(folder)).toBe(name))
  }
})

it('every file of every template is in the package', async () => {
  const packed = mkdtempSync(join(place, 'packed-'))
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', packed]
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: ROOT, env: { ...process.env, PATH } })
  const files: string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path)
  const templates = files.filter(path => path.startsWith('templates/'))
  for (const template of TEMPLATES) {
    for (const file of [
      'gitignore',
      '.dockerignore',
      'Dockerfile',
      'README.md',
      'package.json',
      'src/index.ts',
    ]) {
      expect(templates).toContain(`templates/${template}/${file}`)
    }
  }
  expect(templates.filter(path => /node_modules|\/dist\//.test(path))).toEqual([])
})

it('npm init @svc does what svc init does', async () => {
  const scope = join(place, 'node_modules/@svc')
  mkdirSync(scope, { recursive: true })
  symlinkSync(ROOT, join(scope, 'sdk'))
  cpSync(join(ROOT, 'create'), join(scope, 'create'), { recursive: true })
  const create = join(scope, 'create/create.mjs')
  const made = promisify(execFile)(process.execPath, [create, 'made', '--template', 'oracle'], {
    cwd: place,
    env: { ...process.env, PATH },
  })
  expect((await made).stdout).toContain('made is in')
  expect(readdirSync(join(place, 'made/src'))).toContain('agent.ts')
  const again = promisify(execFile)(process.execPath, [create, 'made'], { cwd: place })
  await expect(again).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('not empty') })
})

it('depends on the commit where a remote has it, and never on a remote that is a folder or that has it not', async () => {
  const clone = mkdtempSync(join(place, 'clone-'))
  const git = (...args: string[]) =>
    promisify(execFile)('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: clone })
  await git('init', '-q')
  await git('commit', '-q', '--allow-empty', '-m', 'first')
  const commit = (await git('rev-parse', 'HEAD')).stdout.trim()
  await git('remote', 'add', 'origin', 'git@example.com:svc/sdk.git')
  expect(await commitElsewhere(clone)).toBeUndefined()
  await git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  expect(await commitElsewhere(clone)).toBe(`git+ssh://git@example.com/svc/sdk.git#${commit}`)
  await git('remote', 'set-url', 'origin', 'https://example.com/svc/sdk.git')
  expect(await commitElsewhere(clone)).toBe(`git+https://example.com/svc/sdk.git#${commit}`)
  for (const url of ['/srv/sdk', 'file:///srv/sdk', 'https://me:secret@example.com/svc/sdk.git']) {
    await git('remote', 'set-url', 'origin', url)
    expect(await commitElsewhere(clone)).toBeUndefined()
  }
})
