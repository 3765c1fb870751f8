/** Bundles the simulation with the source as it is, and runs it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundled } from './bundle.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(root, 'node_modules', '.simulation-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
await import(pathToFileURL(await bundled(join(folder, 'main.mjs'))).href)
