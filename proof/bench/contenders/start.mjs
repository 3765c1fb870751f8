/** Imports what it is told, says what the process has taken until then, and goes. */
import { createRequire } from 'node:module'
import { taken } from './taken.mjs'

const { imports } = JSON.parse(process.argv[2])
for (const name of imports) {
  // As `node agent.cjs` loads it: `import` would first search it for names.
  if (name.endsWith('.cjs')) createRequire(import.meta.url)(name)
  else await import(name)
}
process.send(taken(), () => process.exit())
