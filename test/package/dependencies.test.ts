/** Every dependency is justified in `proof/dependencies.md`, and nothing else is. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

it('proof/dependencies.md gives a reason for each dependency', () => {
  const rows = [...read('proof/dependencies.md').matchAll(/^\| `([^`]+)` \| \S.* \| \S.* \|$/gm)]
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(read('package.json'))
  const named = [dependencies, optionalDependencies, peerDependencies].flatMap(Object.keys)
  expect(rows.map(([, name]) => name)).toEqual(named)
})

it('an installation has as many packages as docs/dependencies.md says', () => {
  const { packages } = JSON.parse(read('package-lock.json'))
  const installed = Object.keys(packages).filter(path => path !== '' && !packages[path].dev)
  const [, said] = /^\| all of it \| (\d+) \|/m.exec(read('docs/dependencies.md'))!
  // This package is one of them.
  expect(installed.length + 1).toBe(Number(said))
})
