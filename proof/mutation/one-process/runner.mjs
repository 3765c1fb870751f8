/**
 * A test runner of Stryker: one process evaluates the tests once and runs them for one mutant after the other. Its own runner starts a
 * worker and evaluates all modules for each mutant, which took ten times as long as the tests.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { BroadcastChannel } from 'node:worker_threads'
import { declareFactoryPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin'
import {
  DryRunStatus,
  determineHitLimitReached,
  MutantRunStatus,
  toMutantRunResult,
} from '@stryker-mutator/api/test-runner'
import { createVitest } from 'vitest/node'
import { SCOPES } from '../scopes.mjs'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const RUN_TESTS = here('run-tests.ts')
/** How long each file's tests took: the quickest ones run first. */
const TOOK_MS = 'one-process.took.json'
/** Longer than any scope's tests take together. */
const CPU_MAX_MS = 10_000

class OneProcess {
  #channel = new BroadcastChannel('one process')
  #vitest
  #isStale = false

  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    const { tests } = SCOPES[process.env.SVC_MUTATE]
    const one = { watch: false, pool: 'threads', maxWorkers: 1, testTimeout: 0, reporters: [] }
    const options = { ...one, config: 'proof/mutation/vitest.config.ts', include: [...tests, RUN_TESTS] }
    this.#vitest = await createVitest('test', options, { plugins: [collectsTests] })
    const found = await this.#vitest.globTestSpecifications()
    const files = found.map(({ moduleId }) => moduleId).filter(file => file !== RUN_TESTS)
    const tookMs = existsSync(TOOK_MS) ? JSON.parse(readFileSync(TOOK_MS, 'utf8')) : {}
    this.#vitest.provide(
      'files',
      files.sort((one, other) => (tookMs[one] ?? 0) - (tookMs[other] ?? 0)),
    )
    const ready = this.#answer()
    const ended = this.#vitest.start([RUN_TESTS]).then(() => {
      throw new Error('the tests could not be collected: npx vitest run says why')
    })
    await Promise.race([ready, ended])
    ended.catch(() => {})
  }

  async dryRun() {
    const { tests, mutantCoverage } = await this.#ask({})
    const tookMs = {}
    for (const { fileName, timeSpentMs } of tests) tookMs[fileName] = (tookMs[fileName] ?? 0) + timeSpentMs
    writeFileSync(TOOK_MS, JSON.stringify(tookMs))
    // So that the next question is answered by tests in the order of their time.
    this.#isStale = true
    return { status: DryRunStatus.Complete, tests, mutantCoverage }
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    // Stryker starts another process, and asks that one.
    if (this.#isStale) throw new Error('what ran before has never ended')
    const question = {
      mutant: activeMutant.id,
      testFilter,
      hitLimit,
      isStatic: mutantActivation === 'static',
    }
    const { tests, hitCount, polluted, hung } = await this.#unlessEndless(this.#ask(question))
    if (polluted) throw new Error(`${polluted} fails without the mutant, too`)
    this.#isStale = hung === true
    if (hung) return { status: MutantRunStatus.Timeout }
    return toMutantRunResult(
      determineHitLimitReached(hitCount, hitLimit) ?? { status: DryRunStatus.Complete, tests },
    )
  }

  async dispose() {
    this.#channel.postMessage('end')
    this.#channel.close()
    await this.#vitest?.close()
  }

  /** By the CPU's time, because a busy machine gives a run little of its own. */
  async #unlessEndless(running) {
    const begun = process.cpuUsage()
    let timer
    const endless = new Promise(resolve => {
      timer = setInterval(() => {
        const { user, system } = process.cpuUsage(begun)
        if (user + system > 1_000 * CPU_MAX_MS) resolve({ hung: true })
      }, 100)
    })
    try {
      return await Promise.race([running, endless])
    } finally {
      clearInterval(timer)
    }
  }

  #ask(question) {
    const answer = this.#answer()
    this.#channel.postMessage(question)
    return answer
  }

  #answer() {
    return new Promise(resolve => {
      this.#channel.onmessage = ({ data }) => resolve(data)
    })
  }
}

/** The tests import ours where they ask for vitest: it collects them instead of running them. */
const collectsTests = {
  name: 'collects tests',
  enforce: 'pre',
  transform: (code, id) =>
    id.includes('/one-process/')
      ? undefined
      : code.replace(/ from 'vitest'$/gm, ` from '${here('collected-tests.ts')}'`),
}

const oneProcess = () => new OneProcess()
oneProcess.inject = tokens()

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'one process', oneProcess)]
