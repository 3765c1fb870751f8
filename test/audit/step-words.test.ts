/** The audit page says every step of a call as a sentence: one that the drawing gets must get one, too. */
import { expect, it } from 'vitest'
import { sentenceOf } from '../../src/audit/page/browser/step-words.js'
import { chargeMachine } from '../../src/domain/machines/charge.machine.js'

it('says every arrow of the drawing as a sentence of its own words', () => {
  const { states } = chargeMachine.config as { states: Record<string, { on?: object }> }
  const arrows = Object.entries(states).flatMap(([state, { on = {} }]) =>
    Object.keys(on).map(event => `${state}.${event}`),
  )
  expect(arrows.length).toBeGreaterThan(80)
  for (const arrow of arrows)
    expect([arrow, sentenceOf(arrow)]).toEqual([arrow, expect.stringMatching(/^[A-Z][^.|]+: [^.|]+\.$/)])
  expect(new Set(arrows.map(sentenceOf)).size).toBe(arrows.length)
  expect(sentenceOf('entitling.uncovered')).toBe('A window or a balance: none came with it.')
})
