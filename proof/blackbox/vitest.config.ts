import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** `npm run blackbox:planted`. */
export default defineConfig({
  resolve: {
    alias: { '#platform': fileURLToPath(new URL('../../src/adapters/platform/node.ts', import.meta.url)) },
  },
  test: { include: ['proof/blackbox/planted.run.ts'], retry: 0, maxWorkers: 1 },
})
