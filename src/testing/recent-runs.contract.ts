/** The promises of `src/ports/recent-runs.ts`, for any implementation of it. */
import type { EndedCall, Runs } from '../ports/call-observer.js'
import type { Contract } from './runner.js'

/** Defines the tests that every {@link Runs} has to pass. What is made is empty, and keeps the last `capacity` calls. */
export const runsContract: Contract<(capacity: number) => Runs> = ({ describe, expect, it }, name, make) => {
  /** As a server's are: nobody changes what another observer is told. */
  const call = (id: number): EndedCall =>
    Object.freeze({
      ...{ id: String(id), endpoint: 'echo', status: 200, ms: 1, traceId: 'trace', startedMs: 0 },
      ...({ path: [], timingsMs: [], final: 'settled', code: 'settled', charged: 'yes' } as const),
    })
  const ids = (runs: Runs) => runs.list().map(({ id }) => Number(id))

  describe(`runs: ${name}`, () => {
    it('the newest comes first, and the oldest makes way', () => {
      const runs = make(3)
      expect(ids(runs)).toEqual([])
      const shown = [1, 2, 3, 4, 5, 6, 7].map(id => {
        runs.ended(call(id))
        return ids(runs)
      })
      expect(shown.slice(0, 5)).toEqual([[1], [2, 1], [3, 2, 1], [4, 3, 2], [5, 4, 3]])
      expect(shown.at(-1)).toEqual([7, 6, 5])
    })

    it('a list that was handed out does not change', () => {
      const runs = make(2)
      runs.ended(call(1))
      const before = runs.list()
      runs.ended(call(2))
      expect(before).toEqual([call(1)])
    })

    it('a capacity of none keeps none', () => {
      const runs = make(0)
      runs.ended(call(1))
      expect(runs.list()).toEqual([])
    })
  })
}
