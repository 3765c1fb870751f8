/**
 * What tests start in processes of their own, bundled once for all of them: it starts with half of the CPU, and tests start some
 * hundreds. What is bundled is the built package; `test/package` installs it as it is published, and starts that.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const CACHE = join(ROOT, 'node_modules/.cache/bundled')
const OURS = ['dist', 'test/support'].map(folder => join(ROOT, folder))

const asBuilt: Plugin = {
  name: 'as built',
  setup({ onLoad, onResolve }) {
    // Of a CommonJS module that is loaded late, a bundle in pieces has no names.
    onResolve({ filter: /^[^./]/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { external: true } : undefined,
    )
    // Our own modules find files beside themselves: each keeps the address that it has outside the bundle.
    onLoad({ filter: /\.m?js$/ }, ({ path }) => {
      if (!OURS.some(folder => path.startsWith(`${folder}/`))) return undefined
      const address = JSON.stringify(pathToFileURL(path).href)
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', address), loader: 'js' }
    })
  },
}

let made: Promise<string> | undefined

/** The path of the bundled file, by that of the file in this repository. */
export async function bundled(file: string): Promise<string> {
  made ??= bundledOnce()
  return join(await made, file.replace(/\.mjs$/, '.js'))
}

async function bundledOnce(): Promise<string> {
  const scripts = readdirSync(OURS[1]!).filter(name => name.endsWith('.mjs'))
  const place = join(CACHE, newestMs(OURS).toFixed(0))
  if (existsSync(place)) return place
  // Each worker of the tests may be at it: the first to end gives its own to all.
  const own = join(dirname(CACHE), `bundling-${process.pid}`)
  await build({
    entryPoints: ['dist/cli/main.js', ...scripts.map(name => `test/support/${name}`)],
    absWorkingDir: ROOT,
    outbase: '.',
    outdir: own,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    // Packages of the other kind of module ask for Node's own by `require`.
    banner: {
      js: "import { createRequire as ofModule } from 'node:module'; const require = ofModule(import.meta.url)",
    },
    plugins: [asBuilt],
    logLevel: 'error',
  })
  try {
    // Another worker may have put its own there meanwhile.
    if (!existsSync(place)) rmSync(CACHE, { recursive: true, force: true })
    mkdirSync(CACHE, { recursive: true })
    renameSync(own, place)
  } catch {
    rmSync(own, { recursive: true })
  }
  return place
}

function newestMs(folders: readonly string[]): number {
  const files = folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => join(folder, file)),
  )
  return Math.max(...files.map(file => statSync(file).mtimeMs))
}
