/** The pages under docs/api are what the comments in the source say, and leave nothing out; docs/commands.md is what `--help` says. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../cli/project-folder.js'

const run = promisify(execFile)

let folder: string
let out: string
let said: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-api-'))
  out = join(folder, 'api')
  const typedoc = [join(ROOT, 'node_modules/typedoc/bin/typedoc'), '--out', out, '--logLevel', 'Warn']
  const { stdout, stderr } = await run(process.execPath, typedoc, { cwd: ROOT }).catch(failed => failed)
  said = stripVTControlCharacters(stdout + stderr)
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const pagesIn = (place: string) =>
  Object.fromEntries(readdirSync(place).map(file => [file, readFileSync(join(place, file), 'utf8')]))
const committed = pagesIn(join(ROOT, 'docs/api'))

it('every exported name has a comment, every type in a signature is exported, every link has an end', () => {
  expect(said).toBe('')
})

it('the pages are current: npm run docs', () => {
  expect(committed).toEqual(pagesIn(out))
})

it('the page of commands is current: npm run docs', async () => {
  const page = readFileSync(join(ROOT, 'docs/commands.md'), 'utf8')
  expect(page).toContain('\n## svc wallet optin\n')
  const made = join(folder, 'commands.md')
  await run(process.execPath, [join(ROOT, 'build/commands.mjs'), made])
  expect(page).toBe(readFileSync(made, 'utf8'))
})

it('every door has a page, and every page a door', () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const doors = Object.keys(exports).filter(path => path !== './package.json')
  const pages = doors.map(path => `${path === '.' ? 'index' : path.slice(2)}.md`)
  expect(Object.keys(committed)).toEqual([...pages, 'README.md'].sort((a, b) => (a < b ? -1 : 1)))
})

it('no row of a table has nothing to say', () => {
  const empty = Object.values(committed).flatMap(page => page.match(/^.*\| - \|$/gm) ?? [])
  expect(empty).toEqual([])
})
