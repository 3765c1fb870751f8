/**
 * Of `npm run build`: joins the modules that tsc wrote into few files, `dist/lib`, which is what the package runs. A process takes
 * most of its start for finding and opening files. Doors, commands and platforms are joined at once, so that a process which takes
 * two of them has each module once.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

// Not that of documents-index.mjs, which reads documents: the image is built without them.
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LIB = join(ROOT, 'dist/lib')
const { exports, imports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const doors = Object.values(exports).map(({ types }) => types?.replace(/\.d\.ts$/, '.js'))
const COMMAND_LINE = ['main', 'dev/preloaded-reporter', 'dev/module-hooks'].map(name => `dist/cli/${name}.js`)

const { outputFiles } = await build({
  absWorkingDir: ROOT,
  entryPoints: [...doors.filter(Boolean), ...COMMAND_LINE, ...new Set(Object.values(imports['#platform']))],
  outdir: LIB,
  entryNames: '[name]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  packages: 'external',
  alias: { '#platform': '#joined-platform' },
  external: ['#joined-platform'],
  logLevel: 'warning',
  write: false,
})
mkdirSync(LIB, { recursive: true })
// esbuild imports some files for their effects alone. No module has any (package.json), and a bundler of this package would warn of it.
for (const { path, text } of outputFiles) writeFileSync(path, text.replace(/^import "\.\/.+";\n/gm, ''))
// What entries share is named after its text: that of an earlier build goes last, when nothing imports it any more.
const made = new Set(outputFiles.map(({ path }) => basename(path)))
for (const file of readdirSync(LIB)) if (!made.has(file)) rmSync(join(LIB, file))
