/** The package this command line came in: its version, its place, what it asks of Node. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** From `dist/cli`, which is where this runs. */
export const PACKAGE_FOLDER = fileURLToPath(new URL('../../', import.meta.url))

export interface PackageFacts {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
}

export function packageFacts(): PackageFacts {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as PackageFacts
}
