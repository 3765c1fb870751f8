/** The simulation itself: it repeats itself, finds what was planted, makes it small; and finds nothing in what is here. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { bundled, type Edit } from '../../proof/simulation/bundle.mjs'
import type { Episode } from '../../proof/simulation/episode.js'
import { INVARIANTS } from '../../proof/simulation/invariants/names.js'
import {
  MADE_UP,
  ON_BALANCES,
  ON_FORGETTING,
  ON_PARTS,
  ON_UPSTREAMS,
  ONCE_THERE,
} from '../../proof/simulation/planted/bugs.mjs'
import { REGRESSIONS } from '../../proof/simulation/regressions.js'

/** Some seconds of them, `.ci/run` has three times as many, and `npm run simulate` goes on. */
const SEEDS = Array.from({ length: Number(process.env.SIMULATED_SEEDS ?? 4) }, (_, at) => String(at + 1))

const PLANTED = [...ONCE_THERE, ...MADE_UP, ...ON_BALANCES, ...ON_UPSTREAMS, ...ON_FORGETTING, ...ON_PARTS]

/** Enough to see that it works. */
const SHRINKING_MAX = 40

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const folder = mkdtempSync(join(tmpdir(), 'simulation-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** As `npm run simulate` makes it: connections and files of its own stand in the place of the machine's. */
async function simulation(
  name: string,
  edits: readonly Edit[] = [],
): Promise<typeof import('../../proof/simulation/planted/entry.js')> {
  const file = await bundled(join(folder, `${name}.mjs`), edits, 'proof/simulation/planted/entry.ts')
  return import(pathToFileURL(file).href)
}

const { episode } = await simulation('plain')

describe('an episode', () => {
  it.each(SEEDS)('of seed %s violates no invariant', async seed => {
    expect((await episode({ seed })).violations).toEqual([])
  })

  it.each(REGRESSIONS)('of seed $seed, which once found that $says, violates none', async ({ seed }) => {
    expect((await episode({ seed })).violations).toEqual([])
  })

  it('is the same each time, byte for byte, and another for another seed', async () => {
    const traceOf = async (seed: string) => {
      const lines: string[] = []
      await episode({ seed, onLine: line => lines.push(line) })
      return lines.join('\n')
    }
    const trace = await traceOf('9')
    expect(trace.split('\n').length).toBeGreaterThan(100)
    expect(await traceOf('9')).toBe(trace)
    expect(await traceOf('11')).not.toBe(trace)
  }, 120_000)

  it('leaves the machine’s clock and chance as they were', async () => {
    const before = [Date.now, performance.now, Math.random, setTimeout, setInterval]
    await episode({ seed: '3' })
    expect([Date.now, performance.now, Math.random, setTimeout, setInterval]).toEqual(before)
  })
})

describe('a planted bug', () => {
  it('is found, and made small: what is left of its faults and acts fails again', async () => {
    const bug = MADE_UP.find(({ name }) => name === 'failure-is-charged')!
    const planted = await simulation('planted', bug.edits)
    let failed: Episode | undefined
    for (let seed = 1; failed === undefined; seed++) {
      const ended = await planted.episode({ seed: String(seed) })
      if (ended.violations.length > 0) failed = ended
    }
    const small = await planted.smallest(failed, SHRINKING_MAX)
    expect(small.invariant).toBe(failed.violations[0]!.invariant)
    expect(small.only.length).toBeLessThan((failed.acts.length + failed.strikes.length) / 2)
    const only = new Set(small.only)
    const again = await planted.episode({ seed: small.seed, only })
    expect(again.violations.map(({ invariant }) => invariant)).toContain(small.invariant)
    // The same faults do no harm to what is here.
    expect((await episode({ seed: small.seed, only })).violations).toEqual([])
  }, 120_000)

  it.each(PLANTED)('still has its one place in the source: $name', ({ edits }) => {
    for (const { file, find } of edits) expect(textOf(file).split(find)).toHaveLength(2)
  })
})

it('the README lists every invariant, in its words, and every planted bug', () => {
  const readme = textOf('proof/simulation/README.md')
  for (const [name, says] of Object.entries(INVARIANTS)) expect(readme).toContain(`| \`${name}\` | ${says} |`)
  for (const { says } of PLANTED) expect(readme).toContain(`| ${says} |`)
})
