import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const MANY =
  'test/{a2a,adapters,app,client,contracts,domain,e2e,facilitator,interop,machines,mcp}/**/*.test.ts'

export default defineConfig({
  // Node takes the built file by package.json's "imports"; tests are of the source.
  resolve: {
    alias: { '#platform': fileURLToPath(new URL('src/adapters/platform/node.ts', import.meta.url)) },
  },
  test: {
    testTimeout: 30_000,
    hookTimeout: 30_000,
    retry: 0,
    // vitest leaves one core to itself, which is half of a small machine. Many tests wait for processes and timers, so there is
    // one more worker than there are cores.
    maxWorkers: availableParallelism() + 1,
    // Where no event can be awaited. A second, which is vitest's own, is short on a busy machine.
    expect: { poll: { interval: 10, timeout: 10_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'many',
          include: [MANY],
          // A worker evaluates each module once for all its files: loading the source for each took a quarter of the time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'apart',
          include: ['test/**/*.test.ts'],
          exclude: [MANY],
        },
      },
    ],
  },
})
