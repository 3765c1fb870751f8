/** The simulation and the source in one file; `edits` are made to a copy of the source, on its way in. */
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** @param {readonly { file: string, find: string, replace: string }[]} edits */
export async function bundled(outfile, edits = [], entry = 'proof/simulation/main.ts') {
  const made = new Set()
  const editing = {
    name: 'edits',
    setup(context) {
      context.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const file = relative(ROOT, path)
        let contents = await readFile(path, 'utf8')
        for (const edit of edits.filter(each => each.file === file)) {
          if (contents.split(edit.find).length !== 2)
            throw new Error(`${file} has no one place that reads ${edit.find}`)
          contents = contents.replace(edit.find, () => edit.replace)
          made.add(edit)
        }
        return { contents, loader: 'ts' }
      })
    },
  }
  await build({
    entryPoints: [join(ROOT, entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    alias: {
      '#platform': join(ROOT, 'proof/simulation/kernel/platform.ts'),
      'node:fs/promises': join(ROOT, 'proof/simulation/kernel/disk.ts'),
    },
    plugins: [editing],
    logLevel: 'error',
  })
  if (made.size !== edits.length) throw new Error('an edit names a file that is not in the simulation')
  return outfile
}
