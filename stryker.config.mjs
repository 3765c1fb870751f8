import { SCOPES } from './test/mutation/scopes.mjs'

const scope = process.env.SVC_MUTATE

export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.mutation.config.ts', related: false },
  mutate: SCOPES[scope].mutate,
  mutator: { excludedMutations: SCOPES[scope].excludedMutations ?? [] },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  timeoutMS: 20_000,
  timeoutFactor: 3,
  incremental: true,
  incrementalFile: `.stryker/${scope}.incremental.json`,
  tempDirName: '.stryker/sandbox',
  ignorePatterns: ['dist', 'docs', 'bench', 'chaos', 'deploy', '.ci', '.github'],
  reporters: ['json', 'clear-text'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: `.stryker/${scope}.json` },
  allowConsoleColors: false,
}
