/** Every interleaving of two calls over the store's decision, and what the walk is worth: each planted fault is found. */
import { describe, expect, it } from 'vitest'
import { CASES_OF_TWO } from '../../proof/model/cases.js'
import { explore } from '../../proof/model/explore.js'
import { PLANTS } from '../../proof/model/plants.mjs'
import { huntFor } from '../../proof/model/run-plants.mjs'

/** A world that grows past this has become another one: then say so here. */
const STATES_MAX = 200_000

describe('two calls, in every order', () => {
  for (const plan of CASES_OF_TWO)
    it(`${plan.name}: no rule is broken`, { timeout: 120_000 }, () => {
      const { violations, isComplete } = explore(plan, { statesMax: STATES_MAX })
      const told = [...violations].map(([rule, trace]) => [rule, ...trace.map(({ label }) => label)])
      expect(told).toEqual([])
      expect(isComplete).toBe(true)
    })
})

describe('a fault in the decision', () => {
  for (const plant of PLANTS)
    it(`is found: ${plant.says}`, { timeout: 120_000 }, async () => {
      expect(await huntFor(plant)).toMatchObject({ rule: expect.any(String) })
    })

  it('that is not there any more cannot be planted', async () => {
    const gone = {
      name: 'gone',
      says: '',
      in: '',
      edits: [{ ...PLANTS[0]!.edits[0]!, find: 'no such text' }],
    }
    await expect(huntFor(gone)).rejects.toThrow('has no one place that reads no such text')
  })
})

describe('a store without deadlines', () => {
  it('makes a record that its call has given up', () => {
    const plan = { ...CASES_OF_TWO[0]!, ignoresDeadlines: true }
    const { violations } = explore(plan, { isFirstEnough: true })
    expect([...violations.keys()]).toEqual(['a record that its call has given up is not made later'])
  })
})
