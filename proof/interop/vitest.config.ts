import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** `npm run interop`: peers in other languages. It needs Python and, the first time, the package registry. */
export default defineConfig({
  resolve: {
    alias: { '#platform': fileURLToPath(new URL('../../src/adapters/platform/node.ts', import.meta.url)) },
  },
  test: {
    include: ['proof/interop/**/*.interop.ts'],
    globalSetup: ['proof/interop/environments.ts'],
    // Most of a test is Python's start, with its imports.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    maxWorkers: 1,
  },
})
