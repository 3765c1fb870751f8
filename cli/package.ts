/** The package of this command line: its version, its folder, and the Node version that it requires. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Relative to `dist/cli`, where this file runs. */
export const PACKAGE_FOLDER = fileURLToPath(new URL('../../', import.meta.url))

export interface PackageFacts {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
}

export function packageFacts(): PackageFacts {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as PackageFacts
}
