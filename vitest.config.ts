import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Node takes the built file by package.json's "imports"; tests are of the source.
  resolve: {
    alias: { '#platform': fileURLToPath(new URL('src/adapters/platform/node.ts', import.meta.url)) },
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    retry: 0,
    // vitest leaves one core to itself, which is half of a small machine. Many tests wait for processes and timers, so there is
    // one more worker than there are cores.
    maxWorkers: availableParallelism() + 1,
    // One evaluation of each module for all files of a worker: loading the source 250 times took a quarter of all.
    isolate: false,
    // Where no event can be awaited. A second, which is vitest's own, is short on a busy machine.
    expect: { poll: { interval: 10, timeout: 10_000 } },
  },
})
