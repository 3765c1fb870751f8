import { describe, expect, it } from 'vitest'
import { type Effects, run } from '../../src/domain/state-machine/run-machine.js'
import { machineOf, type Table, tableOf } from '../../src/domain/state-machine/transition-table.js'

const drawing = {
  id: 'errand',
  initial: 'going',
  states: {
    going: { entry: 'go', on: { arrived: 'buying', lost: 'home', broke: 'home' } },
    buying: { entry: 'buy', on: { bought: 'home', soldOut: 'home' } },
    home: { type: 'final' },
  },
} as const

const table = tableOf(machineOf(drawing))
type Errand = { log: string[] }
type ErrandEffects = Effects<typeof drawing, Errand>

const goes: ErrandEffects = {
  go: ({ log }) => {
    log.push('go')
    return 'arrived'
  },
  buy: ({ log }) => {
    log.push('buy')
    return 'bought'
  },
}

const clock = () => performance.now()

function walk(effects: ErrandEffects, errand: Errand = { log: [] }) {
  const broke: unknown[] = []
  const onBroke = (_: Errand, cause: unknown, state: string) => broke.push([state, cause])
  return { errand, broke, walked: run(table, effects, errand, onBroke, clock) }
}

describe('run', () => {
  it('runs one effect a state, in order, to a final state, and tells the way it took', async () => {
    const { errand, walked } = walk(goes)
    expect(await walked).toMatchObject({ final: 'home', path: ['going.arrived', 'buying.bought'] })
    expect(errand.log).toEqual(['go', 'buy'])
  })

  it('tells how long each step took, by the clock it is given', async () => {
    const ticks = [100, 100.5, 103]
    const { timingsMs } = await run(
      table,
      goes,
      { log: [] },
      () => {},
      () => ticks.shift()!,
    )
    expect(timingsMs).toEqual([0.5, 2.5])
  })

  it('does not wait where an answer is ready: all is done before it yields', () => {
    const { errand } = walk(goes)
    expect(errand.log).toEqual(['go', 'buy'])
  })

  it('waits for answers that come later', async () => {
    const later: ErrandEffects = {
      go: async () => 'arrived' as const,
      buy: async () => 'soldOut' as const,
    }
    const { path } = await walk(later).walked
    expect(path).toEqual(['going.arrived', 'buying.soldOut'])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('flat tyre')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('flat tyre')
      },
    ],
  ])('takes the broke edge of a state whose effect %s, and hands over what it threw', async (_, go) => {
    const { broke, walked, errand } = walk({ ...goes, go })
    expect(await walked).toMatchObject({ final: 'home', path: ['going.broke'] })
    expect(broke).toEqual([['going', new Error('flat tyre')]])
    expect(errand.log).toEqual([])
  })

  it('rejects with what an effect threw where its state has no broke edge', async () => {
    const cause = new Error('shop on fire')
    const { broke, walked } = walk({
      ...goes,
      buy: () => {
        throw cause
      },
    })
    await expect(walked).rejects.toBe(cause)
    expect(broke).toEqual([])
  })

  it('rejects on an event that the state does not list', async () => {
    // @ts-expect-error a foreign event does not compile
    const foreign: ErrandEffects = { ...goes, buy: () => 'arrived' }
    await expect(walk(foreign).walked).rejects.toThrow('state buying does not list the event arrived')
  })

  it('does not let an effect claim that it broke', async () => {
    // @ts-expect-error `broke` is said by the loop, of an effect that threw
    const claims: ErrandEffects = { ...goes, go: () => 'broke' }
    expect((await walk(claims).walked).path).toEqual(['going.broke'])
  })

  it('demands an effect for every name in the drawing', () => {
    // @ts-expect-error `buy` is missing
    const incomplete: ErrandEffects = { go: goes.go }
    expect(Object.keys(incomplete)).toEqual(['go'])
  })

  it('stops a walk that goes round in circles', async () => {
    const circle = {
      id: 'circle',
      initial: 'left',
      states: {
        left: { entry: 'goRight', on: { went: 'right' } },
        right: { entry: 'goLeft', on: { went: 'left', tired: 'asleep' } },
        asleep: { type: 'final' },
      },
    } as const
    const circling: Table<typeof circle> = tableOf(machineOf(circle))
    const effects = { goRight: () => 'went' as const, goLeft: () => 'went' as const }
    await expect(run(circling, effects, {}, () => {}, clock)).rejects.toThrow(
      'machine circle: more than 3 steps',
    )
  })
})
