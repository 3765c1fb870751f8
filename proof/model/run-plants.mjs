/** `npm run explore:planted`: puts each fault into the decision, and prints the rule that it breaks and how long its trace is. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundled } from '../simulation/bundle.mjs'
import { BALANCE_PLANTS } from './balance-plants.mjs'
import { PLANTS } from './plants.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The shortest trace to the rule that a planted fault breaks. */
export async function huntFor({ name, edits, in: where }) {
  const folder = mkdtempSync(join(root, 'node_modules', '.planted-'))
  try {
    const file = await bundled(join(folder, `${name}.mjs`), edits, 'proof/model/hunt.ts')
    const { hunt } = await import(file)
    return hunt(where)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log('| fault | steps | rule that it breaks |\n|---|---:|---|')
  for (const plant of [...PLANTS, ...BALANCE_PLANTS]) {
    const found = await huntFor(plant)
    if (!found) process.exitCode = 1
    console.log(`| ${plant.says} | ${found?.trace.length ?? ''} | ${found?.rule ?? 'none: not found'} |`)
  }
}
