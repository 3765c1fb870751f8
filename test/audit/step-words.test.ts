/** The audit page says every step and every end of a call in words: what the drawing gets must get some, too. */
import { expect, it } from 'vitest'
import { wordsOf } from '../../src/audit/page/step-words.js'
import { chargeMachine, OUTCOMES } from '../../src/domain/machines/charge.machine.js'

it('says every arrow of the drawing as a sentence of its own words', () => {
  const { states } = chargeMachine.config as { states: Record<string, { on?: object }> }
  const arrows = Object.entries(states).flatMap(([state, { on = {} }]) =>
    Object.keys(on).map(event => `${state}.${event}`),
  )
  expect(arrows.length).toBeGreaterThan(80)
  for (const arrow of arrows)
    expect([arrow, wordsOf(arrow)]).toEqual([arrow, expect.stringMatching(/^[A-Z][^.|]+: [^.|]+\.$/)])
  expect(new Set(arrows.map(wordsOf)).size).toBe(arrows.length)
  expect(wordsOf('entitling.uncovered')).toBe('A window or a balance: none came with it.')
})

it('says every end in words of its own, and none of them is a name of the drawing', () => {
  const ends = Object.keys(OUTCOMES)
  expect(ends.length).toBeGreaterThan(20)
  for (const end of ends)
    expect([end, wordsOf(end)]).toEqual([end, expect.stringMatching(/^[a-z]+( [a-z]+,?)+$/)])
  expect(new Set(ends.map(wordsOf)).size).toBe(ends.length)
})
