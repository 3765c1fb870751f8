/** Every edit of our Lua scripts, one at a time, against the contracts on a real Redis at virtual time. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heldToDecision } from '../../test/contracts/charge-store/held-to-decision.js'
import { balanceHistories, histories } from '../../test/contracts/charge-store/histories.js'
import { redisSuites } from '../../test/contracts/redis-suites.js'
import { type VirtualRedis, virtualRedis } from '../../test/support/redis-virtual.js'
import { type LuaMutant, mutantsOf } from './lua-edits.js'
import { KEPT, PARTS } from './lua-parts.js'
import { SURVIVORS } from './lua-survivors.js'

const HISTORIES = 200
const HISTORIES_SEED = 1

let mutant: LuaMutant | undefined
let redis: VirtualRedis
/** The scripts that were sent since this was emptied. */
const sent = new Set<string>()
let failsUnedited: string | undefined
beforeAll(async () => {
  redis = await virtualRedis(lua => {
    sent.add(lua)
    return ending(mutant ? lua.replace(PARTS[mutant.part]!, () => mutant!.text) : lua)
  })
  failsUnedited = await killerOf(undefined)
}, 3_600_000)
afterAll(() => redis.stop())

/** An edit may make a loop endless, and Redis has no way to stop a script that has written: it fails instead. */
function ending(lua: string): string {
  return lua.replace(
    /^ *while .+ do$/gm,
    loop => `local turns = 0\n${loop} turns = turns + 1; if turns > 10000 then error('endless') end`,
  )
}

interface Test {
  readonly title: string
  readonly body: () => Promise<void> | void
  /** The parts whose scripts it sends: no other edit can reach it. */
  parts: ReadonlySet<string>
}

const tests: Test[] = []
const every = new Set(Object.keys(PARTS))
const collecting = {
  expect,
  describe: (_: string, body: () => void) => body(),
  it: (title: string, body: () => Promise<void> | void) => tests.push({ title, body, parts: every }),
}
redisSuites(collecting, () => redis)
/** Last: they take longer than all the rest together. */
for (const kind of [histories, balanceHistories])
  collecting.it('random histories', async () => {
    await heldToDecision(redis, HISTORIES, kind, HISTORIES_SEED)
  })

/** The test that notices; `undefined` where none does. It runs first for the next edit, which is most often beside this one. */
async function killerOf(candidate: LuaMutant | undefined): Promise<string | undefined> {
  mutant = candidate
  await redis.reset()
  try {
    for (const [at, test] of tests.entries()) {
      if (candidate && !test.parts.has(candidate.part)) continue
      sent.clear()
      try {
        await test.body()
      } catch {
        if (!test.title.startsWith('random')) tests.unshift(...tests.splice(at, 1))
        return test.title
      }
      if (!candidate) test.parts = new Set([...every].filter(part => [...sent].some(isOf(PARTS[part]!))))
    }
    return undefined
  } finally {
    mutant = undefined
  }
}

const isOf = (part: string) => (script: string) => script.includes(part)

/** What Redis compiles: an edit that makes no program is no fault that could be shipped. */
async function compiles({ text }: LuaMutant): Promise<boolean> {
  return redis.client.script('LOAD', text).then(
    () => true,
    () => false,
  )
}

/** The line with its edit in it, as `before [was -> is] after`; of a long line what stands around it. */
function nameOf({ part, was, is }: LuaMutant): string {
  if (is === '') return `${part}: [${was} -> ]`
  let begin = 0
  while (was[begin] === is[begin] && begin < was.length) begin++
  let end = 0
  while (was.at(-1 - end) === is.at(-1 - end) && end < Math.min(was.length, is.length) - begin) end++
  // Whole words.
  while (/\w/.test(was[begin - 1] ?? '')) begin--
  while (end > 0 && /\w/.test(was.at(-end) ?? '')) end--
  const [before, after] = [was.slice(0, begin), was.slice(was.length - end)]
  const edit = `[${was.slice(begin, was.length - end)} -> ${is.slice(begin, is.length - end)}]`
  return `${part}: ${before.slice(-60)}${edit}${after.slice(0, 60)}`
}

describe('the Lua scripts', () => {
  // Whatever ended at a time limit would go on, and what is edited meanwhile would be judged without its edit.
  it('pass as they are', () => {
    expect(failsUnedited).toBeUndefined()
  })

  for (const [part, text] of Object.entries(PARTS)) {
    it(`${part}: every edit is noticed, or known to be harmless`, { timeout: 3_600_000 }, async () => {
      const survivors: string[] = []
      let killed = 0
      for (const candidate of mutantsOf(part, text, KEPT)) {
        if (!(await compiles(candidate))) continue
        if (await killerOf(candidate)) killed++
        else console.log(`survived: ${survivors[survivors.push(nameOf(candidate)) - 1]}`)
      }
      console.log(`${part}: ${killed} killed, ${survivors.length} survived`)
      const explained = Object.keys(SURVIVORS).filter(name => name.startsWith(`${part}: `))
      // Also the other way round: what is killed by now needs no excuse.
      expect(survivors.sort()).toEqual(explained.sort())
    })
  }
})
