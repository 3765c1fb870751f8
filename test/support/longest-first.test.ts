/** Which test files there are, in which project, and in which order they start. */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createVitest } from 'vitest/node'
import seconds from '../file-seconds.json' with { type: 'json' }
import { LongestFirst } from './longest-first.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('each test file is in one project, the longest first, and what npm test leaves out stands in CONTRIBUTING.md', async () => {
  const vitest = await createVitest('test', { root, watch: false })
  const specifications = await vitest.globTestSpecifications()
  const sorted = await new LongestFirst(vitest).sort(specifications)
  await vitest.close()
  const files = sorted.map(({ moduleId, project }) => [project.name, relative(root, moduleId)] as const)

  const onDisk = (await readdir(join(root, 'test'), { recursive: true }))
    .filter(file => file.endsWith('.test.ts'))
    .map(file => join('test', file))
  expect(files.map(([, file]) => file).sort()).toEqual(onDisk.sort())
  expect([...new Set(files.map(([project]) => project))]).toEqual(['apart', 'many', 'behind'])

  const known: Readonly<Record<string, number>> = seconds
  for (const [at, [project, file]] of files.entries()) {
    const [nextProject, next] = files[at + 1] ?? []
    if (project === nextProject && known[next!] !== undefined)
      expect(known[file] ?? Number.POSITIVE_INFINITY, `${file} starts before ${next}`).toBeGreaterThanOrEqual(
        known[next!]!,
      )
  }
  const contributing = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8')
  const row = /^.*`npm run test:all`; `.ci\/run`.*$/m.exec(contributing)![0]
  for (const [project, file] of files) expect(row.includes(`\`${file}\``), file).toBe(project === 'behind')
})
