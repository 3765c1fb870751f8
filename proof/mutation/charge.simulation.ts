/** A test of the scope `effects`: simulated episodes, some tenths of a second each. Together they meet every end of a call below. */
import { expect, it } from 'vitest'
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import { episode } from '../simulation/episode.js'

/**
 * By their seeds, the quickest first: what some calls of each must end in. Only ends that an episode has several of: a rare
 * one may be gone for a pause that became shorter, which is no fault.
 */
const EPISODES: readonly (readonly [seed: string, ends: readonly ChargeFinal[]])[] = [
  ['44', ['quoted', 'settled', 'unavailable', 'unsettled']],
  ['45', ['counted', 'tooManyUnpaid', 'timedOut']],
  ['68', ['inProgress', 'abandoned', 'replayed']],
  ['28', ['answerNotKept', 'counted', 'replayed']],
  ['52', ['shuttingDown', 'limited']],
  ['48', ['paymentInUse', 'limited', 'paymentSpent']],
  ['6', ['inProgress', 'replayed', 'failed']],
  ['62', ['unsettled', 'paymentInUse', 'refused']],
  ['54', ['inDoubt', 'tooManyUnpaid']],
  ['35', ['inDoubt', 'undecided', 'served']],
]

for (const [seed, ends] of EPISODES) {
  it(`seed ${seed}`, async () => {
    const { violations, finals } = await episode({ seed })
    expect(violations).toEqual([])
    expect(Object.keys(finals)).toEqual(expect.arrayContaining([...ends]))
  })
}
