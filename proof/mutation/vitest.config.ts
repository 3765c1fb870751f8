import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { SCOPES } from './scopes.mjs'

const scope: { tests: string[] } = SCOPES[process.env.SVC_MUTATE as keyof typeof SCOPES]

/** The tests of one scope alone: each mutant runs them. */
export default defineConfig({
  resolve: {
    alias: { '#platform': fileURLToPath(new URL('../../src/adapters/platform/node.ts', import.meta.url)) },
  },
  test: {
    include: scope.tests,
    // One evaluation of each module for all files of a run: loading algosdk a dozen times took most of it.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { interval: 10, timeout: 10_000 } },
  },
})
