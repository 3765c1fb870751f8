import { SCOPES } from './scopes.mjs'

const scope = process.env.SVC_MUTATE

export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner', './proof/mutation/ignore-logs.mjs'],
  ignorers: SCOPES[scope].ignorers ?? [],
  vitest: { configFile: 'proof/mutation/vitest.config.ts', related: false },
  mutate: SCOPES[scope].mutate,
  mutator: { excludedMutations: SCOPES[scope].excludedMutations ?? [] },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  timeoutMS: SCOPES[scope].timeoutMs ?? 5_000,
  timeoutFactor: 1.5,
  incremental: true,
  incrementalFile: `.stryker/${scope}.incremental.json`,
  tempDirName: `.stryker/sandbox-${scope}`,
  ignorePatterns: ['.stryker', 'dist', 'docs', 'proof/bench', 'proof/chaos', 'deploy', '.ci', '.github'],
  reporters: ['json', 'clear-text', 'progress-append-only'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: `.stryker/${scope}.json` },
  allowConsoleColors: false,
}
