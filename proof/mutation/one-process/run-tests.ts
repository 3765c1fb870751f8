/** The one test that vitest runs: it runs the scope's tests as often as Stryker asks. */
import { BroadcastChannel } from 'node:worker_threads'
import { expect, inject, it, vi } from 'vitest'
import type { Suite, Test } from './collected-tests.js'

interface Question {
  readonly mutant?: string
  readonly testFilter?: readonly string[]
  readonly hitLimit?: number
  /** The mutant is of code that runs when modules are evaluated. */
  readonly isStatic?: boolean
}

/** What Stryker's instrumented source reads and writes. */
interface Instrumented {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number
  hitLimit?: number | undefined
  mutantCoverage?: unknown
}

const shared = globalThis as { __stryker__?: Instrumented }
shared.__stryker__ ??= {}
const stryker = shared.__stryker__
const FILES = inject('files' as never) as readonly string[]

async function collected(): Promise<Suite[]> {
  vi.resetModules()
  const { collect } = await import('./collected-tests.js')
  return collect(FILES)
}

interface Result {
  readonly id: string
  readonly name: string
  readonly fileName: string
  readonly timeSpentMs: number
  readonly status: 0 | 1
  readonly failureMessage?: string
}

const named = (id: string) => ({ id, name: id, fileName: id.split('#')[0]! })

class Failed extends Error {}
class Hung extends Error {}

const LIKELIEST = 5
/** Turns of the loop of events, not time: a busy machine makes them longer, and no test waits for as many. */
const TURNS_MAX = 100
const TURN_MS = 50
/** A test may replace the global ones. */
const { setTimeout, clearTimeout } = globalThis

/** @throws Hung where it waits for what will never come. */
async function unlessHung(running: unknown): Promise<void> {
  if (!(running instanceof Promise)) return
  let timer: NodeJS.Timeout | undefined
  const hung = new Promise((_, reject) => {
    const turn = (left: number) => {
      timer = setTimeout(() => (left === 0 ? reject(new Hung()) : turn(left - 1)), TURN_MS)
    }
    turn(TURNS_MAX)
  })
  try {
    await Promise.race([running, hung])
  } finally {
    clearTimeout(timer)
  }
}

async function runAll(suites: readonly Suite[], filter?: ReadonlySet<string>): Promise<Result[]> {
  const results: Result[] = []
  const wanted = (member: Suite | Test): boolean =>
    'members' in member ? member.members.some(wanted) : !filter || filter.has(member.id)

  async function runSuite(suite: Suite, outer: readonly Suite[]): Promise<void> {
    const all = [...outer, suite]
    for (const hook of suite.hooks.beforeAll) await unlessHung(hook())
    try {
      for (const member of suite.members) {
        if (!wanted(member)) continue
        if ('members' in member) await runSuite(member, all)
        else await runTest(member, all)
      }
    } finally {
      for (const hook of suite.hooks.afterAll) await unlessHung(hook())
    }
  }

  async function runTest({ id, body }: Test, suites: readonly Suite[]): Promise<void> {
    const beganMs = performance.now()
    let failure: unknown
    stryker.currentTestId = id
    try {
      for (const suite of suites) for (const hook of suite.hooks.beforeEach) await unlessHung(hook())
      await unlessHung((body as (context: object) => unknown)({ expect }))
    } catch (error) {
      if (error instanceof Hung) throw error
      failure = error ?? 'nothing was thrown'
    }
    try {
      for (const suite of [...suites].reverse())
        for (const hook of suite.hooks.afterEach) await unlessHung(hook())
    } catch (error) {
      if (error instanceof Hung) throw error
      failure ??= error ?? 'nothing was thrown'
    }
    stryker.currentTestId = undefined
    const timeSpentMs = performance.now() - beganMs
    if (failure === undefined) results.push({ ...named(id), timeSpentMs, status: 0 })
    else {
      results.push({ ...named(id), timeSpentMs, status: 1, failureMessage: String(failure) })
      throw new Failed()
    }
  }

  let last = ''
  try {
    for (const suite of suites) {
      last = suite.file
      if (wanted(suite)) await runSuite(suite, [])
    }
  } catch (error) {
    if (error instanceof Hung) throw error
    // The first failure ends a run. A hook around many tests fails for all of them.
    if (!(error instanceof Failed))
      results.push({ ...named(last), timeSpentMs: 0, status: 1, failureMessage: String(error) })
  }
  return results
}

const failed = ({ status }: Result) => status === 1

it('runs until Stryker says that it is the end', async () => {
  let suites: Suite[] | undefined = await collected()
  let likeliest: string[] = []

  async function answer({ mutant, testFilter, hitLimit, isStatic }: Question) {
    const filter = testFilter && new Set(testFilter)
    if (mutant === undefined) {
      suites ??= await collected()
      const tests = await runAll(suites)
      return { tests, mutantCoverage: stryker.mutantCoverage }
    }
    if (isStatic) suites = undefined
    else suites ??= await collected()
    Object.assign(stryker, { activeMutant: mutant, hitCount: 0, hitLimit })
    const tests = await (suites
      ? runLikeliestFirst(suites, filter)
      : collected().then(fresh => runAll(fresh, filter), notEvaluated)
    ).catch((error: unknown) => {
      if (error instanceof Hung) return undefined
      throw error
    })
    const { hitCount } = stryker
    Object.assign(stryker, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined })
    if (!tests) return { hung: true }
    const killer = tests.find(failed)
    if (killer) likeliest = [killer.id, ...likeliest.filter(id => id !== killer.id)].slice(0, LIKELIEST)
    if (!killer || !suites) return { tests, hitCount }
    // What kills a mutant passes without it, after it: else something is left behind by which all that follows would be killed.
    const polluted = (await runAll(suites, new Set([killer.id]))).find(failed)?.id
    return { tests, hitCount, polluted }
  }

  /** What killed the mutants before this one, then the others. */
  async function runLikeliestFirst(
    suites: readonly Suite[],
    filter: Set<string> | undefined,
  ): Promise<Result[]> {
    const likely = new Set(likeliest.filter(id => !filter || filter.has(id)))
    const first = await runAll(suites, likely)
    if (first.some(failed)) return first
    return [...first, ...(await runAll(suites, filter))]
  }

  const notEvaluated = (error: unknown): Result[] => [
    { ...named(FILES[0]!), timeSpentMs: 0, status: 1, failureMessage: String(error) },
  ]

  const channel = new BroadcastChannel('one process')
  await new Promise<void>(resolve => {
    channel.onmessage = ({ data }: { data?: unknown } & object) => {
      if (data === 'end') resolve()
      else void answer(data as Question).then(answered => channel.postMessage(answered))
    }
    channel.postMessage('ready')
  })
  channel.close()
})
