/** A folder of somebody's project, in which `@svc/sdk` is this copy, bundled where it is not `asBuilt`. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundledSdk } from '../support/bundled.js'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

export interface ProjectFolder {
  readonly path: string
  write(file: string, text: string): void
  remove(): void
}

const SDK = await bundledSdk()

export function projectFolder(files: Readonly<Record<string, string>> = {}, asBuilt = false): ProjectFolder {
  const path = mkdtempSync(join(tmpdir(), 'svc-project-'))
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), text)
  }
  mkdirSync(join(path, 'node_modules/@svc'), { recursive: true })
  symlinkSync(asBuilt ? ROOT : SDK, join(path, 'node_modules/@svc/sdk'))
  for (const [file, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files }))
    write(file, text)
  return { path, write, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** An agent that answers `word`; with `typed`, one that only a TypeScript-capable Node can run. */
export function agentSource(word: string, { typed = false } = {}): string {
  return `
import { defineAgent, defineEndpoint, serve } from '@svc/sdk'
const word${typed ? ': string' : ''} = '${word}'
const say = defineEndpoint({
  name: 'say',
  price: '$0.01',
  input: { type: 'object', properties: { to: { type: 'string', examples: ["it's me"] } } },
  handler: () => ({ word }),
})
const { SVC_PAY_TO: payTo, SVC_NETWORK: network } = process.env
serve(defineAgent({ name: 'Sayer', handle: 'sayer', description: 'Says.', payTo, network, endpoints: [say] }), {
  onReady: () => {},
})
`
}
