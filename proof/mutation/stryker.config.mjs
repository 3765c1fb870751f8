import { SCOPES } from './scopes.mjs'

const scope = process.env.SVC_MUTATE

export default {
  testRunner: 'one process',
  plugins: [
    './proof/mutation/one-process/runner.mjs',
    './proof/mutation/ignore-logs.mjs',
    './proof/mutation/say-survivors.mjs',
  ],
  ignorers: SCOPES[scope].ignorers ?? [],
  mutate: SCOPES[scope].mutate,
  mutator: { excludedMutations: SCOPES[scope].excludedMutations ?? [] },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  // The runner knows by itself what never ends. This is for a runner that is broken.
  timeoutMS: 900_000,
  incremental: true,
  incrementalFile: `.stryker/${scope}.incremental.json`,
  tempDirName: `.stryker/sandbox-${scope}`,
  ignorePatterns: ['.stryker', 'dist', 'docs', 'proof/bench', 'proof/chaos', 'deploy', '.ci', '.github'],
  reporters: ['json', 'clear-text', 'progress-append-only', 'survivors'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: `.stryker/${scope}.json` },
  allowConsoleColors: false,
}
