/** The package of this command line: its version, its folder, the Node version that it requires, and what this one can. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Relative to `dist/lib`, where this runs, and to `dist/cli`, from where it is joined. */
const FOLDER = new URL('../../', import.meta.url)
export const PACKAGE_FOLDER = fileURLToPath(FOLDER)

/** Where this package's own code is: joined, and before. */
export const OWN_CODE = ['lib', 'src', 'cli'].map(folder => new URL(`dist/${folder}/`, FOLDER).href)

export interface PackageFacts {
  readonly version: string
  readonly engines: { readonly node: string }
}

export function packageFacts(): PackageFacts {
  return JSON.parse(readFileSync(new URL('package.json', FOLDER), 'utf8')) as PackageFacts
}

export const TYPESCRIPT_SINCE = '22.6'

/** Flags with which this Node runs TypeScript directly; `undefined` where no flags help. */
export function typeScriptFlags(): readonly string[] | undefined {
  const { typescript } = process.features as { typescript?: string | false }
  // Node prints this warning on every start until 24.3, and a developer who chose TypeScript knows it.
  const quiet = '--disable-warning=ExperimentalWarning'
  if (typescript) return [quiet]
  return isAtLeast(TYPESCRIPT_SINCE) ? ['--experimental-strip-types', quiet] : undefined
}

/** Compares by number, part by part: 20.9 is older than 20.18. */
export function isAtLeast(wanted: string, version: string = process.versions.node): boolean {
  const [have, want] = [version, wanted].map(text => text.split('.').map(Number))
  const at = want!.findIndex((part, index) => part !== (have![index] ?? 0))
  return at < 0 || (have![at] ?? 0) > want![at]!
}
