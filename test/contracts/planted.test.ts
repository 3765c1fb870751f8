/** Stores that lose what a server gives them, as columns of a database do that are too short: each contract finds its own. */
import { expect, it } from 'vitest'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memoryRuns } from '../../src/adapters/memory/recent-runs.js'
import { memorySpendLedger } from '../../src/adapters/memory/spend-ledger.js'
import { memoryTasks } from '../../src/adapters/memory/task-store.js'
import { PAYMENT_LIFE_MAX_MS } from '../../src/ports/spend-ledger.js'
import {
  countersContract,
  runsContract,
  spendContract,
  type TestRunner,
  tasksContract,
} from '../../src/testing.js'

const KEY_LENGTH_MAX = 255
const COLUMN_BYTES = 65_535

let nowMs = Date.UTC(2026, 0, 1)
const clock = { now: () => nowMs, monotonic: () => nowMs }
const advance = (ms: number) => {
  nowMs += ms
}

const PLANTED: Readonly<Record<string, (runner: TestRunner) => void>> = {
  'counters cut their keys'(runner) {
    const counters = memoryCounters({ clock })
    const cut = (key: string) => key.slice(0, KEY_LENGTH_MAX)
    const cutting: typeof counters = {
      take: (key, terms) => counters.take(cut(key), terms),
      peek: (key, terms) => counters.peek(cut(key), terms),
      giveBack: (key, count, terms) => counters.giveBack(cut(key), count, terms),
    }
    countersContract(runner, 'cut', () => ({ counters: cutting, advance, periodMs: 60_000 }))
  },
  'tasks cut their contents'(runner) {
    tasksContract(runner, 'cut', () => {
      const store = memoryTasks({ clock })
      const put: typeof store.put = task =>
        store.put({ ...task, content: task.content.slice(0, COLUMN_BYTES) })
      return { store: { ...store, put }, advance, lifeMs: 300_000 }
    })
  },
  'a ledger cuts the text of its balances'(runner) {
    spendContract(runner, 'cut', () => {
      const ledger = memorySpendLedger(clock)
      const { balances } = ledger
      const cut: typeof balances = change =>
        balances!(change && { ...change, after: change.after.slice(0, COLUMN_BYTES) })
      Object.assign(ledger, { balances: cut })
      return { ledger, advance, windowMs: 86_400_000, lifeMs: PAYMENT_LIFE_MAX_MS }
    })
  },
  'runs write into what they are told'(runner) {
    runsContract(runner, 'writing', capacity => {
      const runs = memoryRuns(capacity)
      return { ...runs, ended: call => runs.ended(Object.assign(call, { payer: undefined })) }
    })
  },
}

it.each(Object.entries(PLANTED))('%s', async (_, plant) => {
  const cases: (() => unknown)[] = []
  plant({ expect, describe: (_, body) => body(), it: (_, body) => cases.push(body) })
  const ends = []
  for (const run of cases) ends.push(await Promise.allSettled([Promise.resolve().then(run)]))
  expect(ends.flat().filter(({ status }) => status === 'rejected')).not.toHaveLength(0)
})
