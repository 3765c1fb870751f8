/**
 * What tests start in processes of their own, bundled and compiled once for all of them: it starts with a third of the CPU, and
 * tests start some hundreds. What is bundled is the built package; `test/package` installs it as it is published, and starts that.
 *
 * `svc sell --help` takes 0.17 s so, and 0.27 from modules in pieces. Tried, and left out: modules in one piece (0.31); flags of V8,
 * with which Node compiles its own modules too (0.28 to 0.31); a minified script, and code compiled for one command alone (0.01 less).
 */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const CACHE = join(ROOT, 'node_modules/.cache/bundled')
const OURS = ['dist', 'test/support', 'proof/chaos'].map(folder => join(ROOT, folder))
const SDK = 'dist/src/index.js'
const PROGRAMS = [
  'dist/cli/main.js',
  'dist/agents/reference/start.js',
  'proof/chaos/agent.mjs',
  ...readdirSync(OURS[1]!)
    .filter(name => name.endsWith('.mjs'))
    .map(name => `test/support/${name}`),
]

const asBuilt: Plugin = {
  name: 'as built',
  setup({ onLoad }) {
    // Our own modules find files beside themselves: each keeps the address that it has outside the bundle.
    onLoad({ filter: /\.m?js$/ }, ({ path }) => {
      if (!OURS.some(folder => path.startsWith(`${folder}/`))) return undefined
      const address = JSON.stringify(pathToFileURL(path).href)
      const text = readFileSync(path, 'utf8').replaceAll('import.meta.url', address)
      const isProgram = PROGRAMS.includes(path.slice(ROOT.length + 1))
      return { contents: isProgram ? inFunction(text) : text, loader: 'js' }
    })
  },
}

/** A module awaits at its top, a script cannot: what a program does after its imports is in a function, whose end is `done`. */
function inFunction(text: string): string {
  const imports = /^import [^;]*?'[^']+';?$/gm
  const program = text.replace(/^#!.*/, '').replace(imports, '')
  return `${(text.match(imports) ?? []).join('\n')}\nexport const done = (async () => {${program}\n})()`
}

/** With the script is kept what V8 had compiled of it when a process first ended, for the same Node alone. */
const LOAD = `
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { Script } = require('node:vm')
const filename = __dirname + '/all.js'
const compiled = filename + '.' + process.version
const cachedData = existsSync(compiled) ? readFileSync(compiled) : undefined
const source = '(function (exports, require, module, process) {"use strict";' + readFileSync(filename, 'latin1') + '\\n})'
const script = new Script(source, { filename, cachedData })
if (!cachedData)
  process.once('exit', () => {
    writeFileSync(compiled + process.pid, script.createCachedData())
    renameSync(compiled + process.pid, compiled)
  })
const run = script.runInThisContext()
run(exports, require, module, process)
exports.anew = process => {
  const made = {}
  run(made, name => (/^(node:)?process$/.test(name) ? process : require(name)), module, process)
  return made
}
`

let made: Promise<string> | undefined

/** The path of the bundled file, by that of the file in this repository. */
export async function bundled(file: string): Promise<string> {
  made ??= bundledOnce()
  return join(await made, file.replace(/\.m?js$/, '.cjs'))
}

/** The folder of a package `@svc/sdk`, for a project that imports no other of its doors. */
export async function bundledSdk(): Promise<string> {
  made ??= bundledOnce()
  return join(await made, 'sdk')
}

/** The file's own start, once more in this process, which it takes for another: its modules are its own. */
export async function startedHere(file: string, process: NodeJS.Process): Promise<void> {
  made ??= bundledOnce()
  const { anew } = createRequire(import.meta.url)(join(await made, 'load.cjs'))
  await anew(process)[file]().done
}

async function bundledOnce(): Promise<string> {
  const place = join(CACHE, newestMs(OURS).toFixed(0))
  if (existsSync(place)) return place
  // Each worker of the tests may be at it: the first to end gives its own to all.
  mkdirSync(dirname(CACHE), { recursive: true })
  const own = mkdtempSync(join(dirname(CACHE), 'bundling-'))
  const listed = [...PROGRAMS, SDK].map(file => `${JSON.stringify(file)}: () => require('./${file}'),`)
  await build({
    stdin: { contents: `Object.assign(exports, {${listed.join('\n')}})`, resolveDir: ROOT },
    absWorkingDir: ROOT,
    outfile: join(own, 'all.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    plugins: [asBuilt],
    logLevel: 'error',
  })
  writeFileSync(join(own, 'load.cjs'), LOAD)
  for (const file of PROGRAMS) {
    const path = join(own, file.replace(/\.m?js$/, '.cjs'))
    mkdirSync(dirname(path), { recursive: true })
    const load = relative(dirname(path), join(own, 'load.cjs'))
    writeFileSync(path, `require(${JSON.stringify(load)})[${JSON.stringify(file)}]()`)
  }
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, args, { cwd: own, encoding: 'utf8' })
  run('test/support/warm-up.cjs')
  const sdk = `require('../load.cjs')['${SDK}']()`
  const names = run('-p', `Object.keys(${sdk.replace('..', '.')}).join(', ')`)
  mkdirSync(join(own, 'sdk'))
  writeFileSync(
    join(own, 'sdk/package.json'),
    '{ "name": "@svc/sdk", "type": "module", "exports": "./index.js" }',
  )
  writeFileSync(
    join(own, 'sdk/index.js'),
    `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
export const { ${names} } = ${sdk}`,
  )
  mkdirSync(CACHE, { recursive: true })
  try {
    renameSync(own, place)
  } catch {
    // Another worker has put its own there meanwhile, and starts what is in it.
    rmSync(own, { recursive: true })
  }
  const others = readdirSync(CACHE).map(name => join(CACHE, name))
  for (const other of others.filter(path => path !== place && isOld(path)))
    rmSync(other, { recursive: true, force: true })
  return place
}

/** Another run of the tests may start what is younger. */
function isOld(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < Date.now() - 3_600_000
}

function newestMs(folders: readonly string[]): number {
  const files = folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => join(folder, file)),
  )
  return Math.max(...files.map(file => statSync(file).mtimeMs))
}
