/** Imports what it is told, says what the process has taken until then, and goes. */
import { taken } from './taken.mjs'

const { imports } = JSON.parse(process.argv[2])
for (const name of imports) await import(name)
process.send(taken(), () => process.exit())
