/** The charge machine is proved by the very code that `svc machines charge --prove` runs; here it must hold. */
import { afterAll, describe, expect, it } from 'vitest'
import { proveCharge } from '../../src/audit/proofs/all-machines.js'
import {
  allPathsOf,
  holds,
  type MachinePath,
  type Property,
  provePaths,
} from '../../src/audit/proofs/check-machine-properties.js'
import {
  type ChargeFinal,
  chargeTable,
  OUTCOMES,
  type Outcome,
} from '../../src/domain/machines/charge.machine.js'
import { claimTable } from '../../src/domain/machines/claim.machine.js'

const ways = allPathsOf(chargeTable)
const charged = (kind: Outcome['charged']) =>
  ways.filter(({ final }) => OUTCOMES[final as ChargeFinal].charged === kind)

describe('every way through the charge machine', () => {
  const proofs = [...proveCharge(chargeTable)]
  afterAll(() => {
    const lines = proofs.map(({ checked, of, says }) => `${String(checked).padStart(4)} ${of}  ${says}`)
    console.log(`charge machine, ${ways.length} ways:\n${lines.join('\n')}`)
  })

  it('there are 292 of them, and 76 on which this call submits a payment that may have landed', () => {
    expect(ways).toHaveLength(292)
    expect(ways.filter(way => way.final === 'settled' || way.final === 'inDoubt')).toHaveLength(76)
    expect([charged('yes').length, charged('maybe').length, charged('earlier').length]).toEqual([12, 75, 4])
  })

  it.each(proofs.map(proof => [proof.says, proof] as const))('%s', (_, proof) => {
    expect(proof.refuted).toEqual([])
    expect(proof.checked).toBeGreaterThan(0)
    expect(holds(proof)).toBe(true)
  })

  it('a claim is orphaned only in a state that only recording enters', () => {
    const orphanable = Object.entries(claimTable.rows).filter(([, row]) => 'orphaned' in row.on)
    expect(orphanable.map(([state]) => state)).toEqual(['settling'])
    const entering = Object.entries(claimTable.rows).flatMap(([state, row]) =>
      Object.entries(row.on).filter(([, target]) => target === 'settling' && state !== 'settling'),
    )
    expect(new Set(entering.map(([event]) => event))).toEqual(new Set(['recorded']))
  })
})

describe('a proof', () => {
  const property: Property<MachinePath> = { says: 'all is well', some: all => all, holds: () => true }

  it('names the ways on which a property does not hold', () => {
    const [proof] = provePaths(chargeTable, [
      { ...property, holds: way => way.steps[0] !== 'received.limited' },
    ])
    expect(proof).toMatchObject({ checked: 292, refuted: ['received.limited → limited'] })
    expect(holds(proof!)).toBe(false)
  })

  it('proves nothing where there is nothing to check', () => {
    const [proof] = provePaths(chargeTable, [{ ...property, some: () => [] }])
    expect(proof).toMatchObject({ checked: 0, refuted: [] })
    expect(holds(proof!)).toBe(false)
  })
})

describe('every final state of the charge machine', () => {
  const finals = Object.entries(chargeTable.rows).filter(([, row]) => row.final)

  it.each(finals)('%s says what it means to a caller', (name, row) => {
    expect(row.meta).toEqual({
      kind: expect.stringMatching(/^(answer|payment|problem)$/),
      status: expect.any(Number),
      code: expect.stringMatching(/^[a-z_]+$/),
      charged: expect.stringMatching(/^(no|yes|earlier|maybe|balance)$/),
      closing: expect.stringMatching(/^(complete|keep|release)$/),
      credit: expect.stringMatching(/^(earned|returned|spent|none)$/),
    })
    expect(OUTCOMES[name as ChargeFinal]).toEqual(row.meta)
  })

  it('OUTCOMES has exactly these', () => {
    expect(Object.keys(OUTCOMES).sort()).toEqual(finals.map(([name]) => name).sort())
  })
})
