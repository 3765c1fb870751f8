/** The properties of the charge machine, proved on every way through it; the run prints one line per property. */
import { afterAll, describe, expect, it } from 'vitest'
import {
  type ChargeFinal,
  chargeTable,
  OUTCOMES,
  type Outcome,
} from '../../src/domain/machines/charge.machine.js'
import { claimTable } from '../../src/domain/machines/claim.machine.js'
import { type Way, waysOf } from './paths.js'

const ways = waysOf(chargeTable)
const outcomeOf = (way: Way): Outcome => OUTCOMES[way.final as ChargeFinal]
const charged = (...kinds: Outcome['charged'][]) => ways.filter(way => kinds.includes(outcomeOf(way).charged))
const passing = (state: string) => ways.filter(way => way.states.includes(state))
const taking = (...steps: string[]) => ways.filter(way => steps.some(step => way.steps.includes(step)))

/** What a call does that ends up charged, in this order. A key whose earlier call died is taken by recovering it. */
const CHARGE = [
  /^opening\.(opened|orphaned)$/,
  /^verifying\.verified$/,
  /^delivering\.delivered$/,
  /^recording\.recorded$/,
  /^settling\./,
]

/** The call asked what became of an earlier one's payment, and could not learn it. */
const earlierInDoubt = taking('recovering.undecided', 'recovering.storeDown', 'recovering.broke')

const proved: string[] = []

/** Proves a property on each of `some` ways, of which there must be any. */
function proves(property: string, some: () => Way[], holds: (way: Way) => void): void {
  it(property, () => {
    const on = some()
    expect(on.length).toBeGreaterThan(0)
    for (const way of on) holds(way)
    proved.push(`${String(on.length).padStart(4)} ways  ${property}`)
  })
}

describe('every way through the charge machine', () => {
  afterAll(() => console.log(`charge machine, ${ways.length} ways:\n${proved.join('\n')}`))

  it('there are 263 of them, and 42 on which this call submits a payment that may have landed', () => {
    expect(ways).toHaveLength(263)
    expect(ways.filter(way => way.final === 'settled' || way.final === 'inDoubt')).toHaveLength(42)
    expect([charged('yes').length, charged('maybe').length, charged('earlier').length]).toEqual([18, 27, 2])
  })

  proves(
    'none is longer than eleven steps, and none comes back',
    () => ways,
    way => {
      expect(way.steps.length).toBeLessThanOrEqual(11)
      expect(new Set(way.states).size).toBe(way.states.length)
    },
  )

  proves(
    'charged yes: opened, verified, delivered, recorded, then settled, in that order',
    () => charged('yes'),
    expectCharge,
  )

  proves(
    'charged maybe by this call: the same order, and the chain was asked in vain',
    () => charged('maybe').filter(way => !earlierInDoubt.includes(way)),
    way => {
      expectCharge(way)
      expect(way.states.at(-1)).toBe('reconciling')
    },
  )

  // The one `maybe` that is not this call's doing. The earlier call had recorded: an orphan is a claim in `settling`,
  // which the claim machine enters by `recorded` alone. This call did nothing yet but ask.
  proves(
    'charged maybe by an earlier call: found orphaned, nothing of this call’s own was verified, run or settled',
    () => earlierInDoubt,
    way => {
      expect(way.final).toBe('undecided')
      expect(way.states).toEqual(['received', 'opening', 'recovering'])
    },
  )

  it('a claim is orphaned only in a state that only recording enters', () => {
    const orphanable = Object.entries(claimTable.rows).filter(([, row]) => 'orphaned' in row.on)
    expect(orphanable.map(([state]) => state)).toEqual(['settling'])
    const entering = Object.values(claimTable.rows).flatMap(row =>
      Object.entries(row.on).filter(([, target]) => target === 'settling'),
    )
    expect(new Set(entering.map(([event]) => event))).toEqual(new Set(['recorded', 'orphaned']))
  })

  proves(
    'charged earlier: the recorded answer of a call that is proved to be paid',
    () => charged('earlier'),
    way => {
      expect(['opening.replayable', 'recovering.found']).toContain(way.steps.at(-1))
    },
  )

  proves(
    'the handler runs once, and only after verified or covered',
    () => ways.filter(way => handled(way) > 0),
    way => {
      expect(handled(way)).toBe(1)
      const before = way.states.includes('delivering') ? 'verifying.verified' : 'entitling.covered'
      expect(way.steps[way.states.findIndex(isHandling) - 1]).toBe(before)
    },
  )

  proves(
    'a handler that failed, timed out, was abandoned or stopped settles nothing and charges nothing',
    () =>
      ways.filter(
        way => handled(way) > 0 && !taking('delivering.delivered', 'serving.delivered').includes(way),
      ),
    way => {
      expect(way.states).not.toContain('settling')
      expect(outcomeOf(way)).toMatchObject({ charged: 'no', closing: 'release' })
    },
  )

  proves(
    'nothing settles that was not recorded in the step before',
    () => passing('settling'),
    way => {
      expect(way.steps[way.states.indexOf('settling') - 1]).toBe('recording.recorded')
    },
  )

  proves(
    'after settling began, not charged is said only on a first clear no or on proof of absence',
    () => passing('settling').filter(way => outcomeOf(way).charged === 'no'),
    way => expect(['settling.refused', 'reconciling.absent']).toContain(way.steps.at(-1)),
  )

  proves(
    'after one unknown, only reconciling decides',
    () => taking('settling.unknown', 'settling.broke'),
    way => {
      expect(way.states.at(-1)).toBe('reconciling')
    },
  )

  proves(
    'a subscription’s window is served without price, verification or settlement',
    () => passing('serving'),
    way => {
      for (const state of ['pricing', 'verifying', 'settling']) expect(way.states).not.toContain(state)
      expect(outcomeOf(way).charged).toBe('no')
    },
  )

  proves(
    'a body is checked before anything is priced, verified or run',
    () => ways.filter(way => ['pricing', 'serving'].some(state => way.states.includes(state))),
    way => {
      expect(way.states.indexOf('validating')).toBeLessThan(way.states.indexOf('entitling'))
      expect(way.states.indexOf('opening')).toBeLessThan(way.states.indexOf('validating'))
    },
  )

  proves(
    'what is held is completed where it is owed, kept where it is in doubt, else released',
    () => ways,
    way => {
      const { charged: kind, closing } = outcomeOf(way)
      expect(closing === 'keep').toBe(kind === 'maybe')
      expect(closing === 'complete').toBe(kind === 'yes' || way.final === 'served')
    },
  )

  proves(
    '402 always means that this call charged nothing, and the quote is the only unpaid one',
    () => ways.filter(way => outcomeOf(way).status === 402),
    way => {
      expect(outcomeOf(way).charged).toBe('no')
      expect(way.final === 'quoted').toBe(way.steps.at(-1) === 'pricing.unpaid')
    },
  )

  proves(
    'an effect that throws never charges, unless settling had begun',
    () => ways.filter(way => way.steps.some(step => step.endsWith('.broke'))),
    way => {
      const broke = way.steps.find(step => step.endsWith('.broke'))!
      if (['settling.broke', 'reconciling.broke', 'recovering.broke'].includes(broke)) {
        expect(outcomeOf(way).code).not.toBe('internal_error')
      } else {
        expect(outcomeOf(way).charged).toBe('no')
        expect(way.steps.at(-1)).toBe(broke)
      }
    },
  )
})

describe('every final state of the charge machine', () => {
  const finals = Object.entries(chargeTable.rows).filter(([, row]) => row.final)

  it.each(finals)('%s says what it means to a caller', (name, row) => {
    expect(row.meta).toEqual({
      status: expect.any(Number),
      code: expect.stringMatching(/^[a-z_]+$/),
      charged: expect.stringMatching(/^(no|yes|earlier|maybe)$/),
      closing: expect.stringMatching(/^(complete|keep|release)$/),
    })
    expect(OUTCOMES[name as ChargeFinal]).toEqual(row.meta)
  })

  it('OUTCOMES has exactly these', () => {
    expect(Object.keys(OUTCOMES).sort()).toEqual(finals.map(([name]) => name).sort())
  })

  it('every working state survives an effect that throws', () => {
    for (const row of Object.values(chargeTable.rows)) expect('broke' in row.on).toBe(!row.final)
  })
})

function expectCharge(way: Way): void {
  const at = CHARGE.map(step => way.steps.findIndex(taken => step.test(taken)))
  expect(at).not.toContain(-1)
  expect(at).toEqual(at.toSorted((a, b) => a - b))
  if (!way.steps.includes('opening.orphaned')) return
  expect(['recovering.absent', 'recovering.forfeited']).toContain(way.steps[at[0]! + 1])
}

function isHandling(state: string): boolean {
  return state === 'delivering' || state === 'serving'
}

function handled(way: Way): number {
  return way.states.filter(isHandling).length
}
