/**
 * The test of the scopes `effects` and `charge`: simulated episodes, some tenth of a second each. Together they meet both
 * stores, both words that settle, every way of keeping answers, every kind of trouble and every end of a call below.
 */
import { expect, it } from 'vitest'
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import { episode } from '../simulation/episode.js'

/**
 * By their seeds, the quickest first: what some calls of each must end in. Only ends that an episode has several of: a rare
 * one may be gone for a pause that became shorter, which is no fault.
 */
const EPISODES: readonly (readonly [seed: string, ends: readonly ChargeFinal[]])[] = [
  ['174', ['quoted', 'failed', 'served', 'keyReused']],
  ['235', ['inProgress', 'served', 'replayed']],
  ['72', ['shuttingDown', 'settled', 'paymentSpent', 'timedOut']],
  ['239', ['replayed', 'unavailable', 'refused']],
  ['48', ['limited', 'paymentInUse']],
  ['94', ['inProgress', 'replayed']],
  ['95', ['unsettled', 'paymentSpent']],
  ['175', ['abandoned', 'inDoubt', 'answerNotKept', 'unavailable']],
  ['255', ['inDoubt', 'answerNotKept', 'paymentInUse']],
  ['62', ['unsettled', 'tooManyUnpaid', 'settled']],
  ['241', ['tooManyUnpaid', 'limited', 'replayed']],
]

for (const [seed, ends] of EPISODES) {
  it(`seed ${seed}`, async () => {
    const { violations, finals } = await episode({ seed })
    expect(violations).toEqual([])
    expect(Object.keys(finals)).toEqual(expect.arrayContaining([...ends]))
  })
}
