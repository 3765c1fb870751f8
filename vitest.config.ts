import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.js'

/** They replace a module or, as long as an episode takes, the clock; or they expect what happens once in a process. */
const APART = ['test/process/*.test.ts', 'test/simulation/simulation.test.ts']

/**
 * What `.ci/run` and `npm run test:all` run after the others, and `npm test` does not: chance for as long as there is time,
 * long searches, floods against time, other runtimes, browsers, and what installs packages. Beside the others they would be most
 * of a small machine's load.
 */
const BEHIND = [
  'test/**/*.browser.test.ts',
  'test/adapters/validation.floods.test.ts',
  'test/docs/{hosts,next,site}.test.ts',
  'test/e2e/{blackbox,chaos,strangers-cost}.test.ts',
  'test/model/explorer.test.ts',
  'test/package/{from-source,package,runtimes,types}.test.ts',
  'test/templates/templates.test.ts',
]

export default defineConfig({
  // Node takes the built file by package.json's "imports"; tests are of the source.
  resolve: {
    alias: { '#platform': fileURLToPath(new URL('src/adapters/platform/node.ts', import.meta.url)) },
  },
  test: {
    // Not `experimental.fsModuleCache`: 24 s of CPU instead of 26 in a fresh clone, 22 later, for a cache that may be stale.
    // Ten times what the longest of them take on a machine that does nothing else: who waits so long waits for ever. Folders with
    // thousands of files are copied and removed in hooks.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: 0,
    sequence: { sequencer: LongestFirst },
    // vitest leaves one core to itself, which is half of a small machine. Many tests wait for processes and timers, so there are
    // two more workers than there are cores.
    maxWorkers: availableParallelism() + 2,
    // Where no event can be awaited. A second, which is vitest's own, is short on a busy machine; a lease, of 15 s by default, is
    // longer: what shall not wait for its end is not found at its end.
    expect: { poll: { interval: 10, timeout: 10_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'many',
          include: ['test/**/*.test.ts'],
          exclude: [...APART, ...BEHIND],
          // A worker evaluates each module once for all its files: loading the source for each took a quarter of the time.
          isolate: false,
          setupFiles: 'test/support/own-globals.ts',
          // The contracts on a real Redis wait without working, so they wait at the same time. A file cannot set it: its worker has begun.
          maxConcurrency: 100,
        },
      },
      {
        extends: true,
        test: {
          name: 'apart',
          include: APART,
        },
      },
      {
        extends: true,
        test: {
          name: 'behind',
          include: BEHIND,
          // They play against time.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
