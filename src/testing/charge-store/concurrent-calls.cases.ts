import type { Hold } from '../../ports/charge-store.js'
import type { Cases, Scene } from './fixture.js'

const RACERS = 64

export function concurrentCallsCases({ expect, it, fresh }: Cases): void {
  it(`${RACERS} racing opens of one claim have one winner`, async s => {
    const verdicts = await race(token => s.call(token, { payment: token }), s)
    expect(verdicts.sort()).toEqual([...Array(RACERS - 1).fill('inProgress'), 'opened'])
  })

  it(`${RACERS} racing opens of one payment have one winner`, async s => {
    const verdicts = await race(token => s.call(token, { key: token }), s)
    expect(verdicts.sort()).toEqual([...Array(RACERS - 1).fill('inUse'), 'opened'])
  })

  it(`${RACERS} racing opens of one claim and one payment have one winner`, async s => {
    const verdicts = await race(token => s.call(token), s)
    expect(verdicts.filter(verdict => verdict === 'opened')).toHaveLength(1)
  })

  it(`${RACERS} racing successors of one orphan: one takes it over`, async s => {
    await s.orphan()
    const verdicts = await race(token => s.call(token), s)
    expect(verdicts.sort()).toEqual([...Array(RACERS - 1).fill('inProgress'), 'orphaned'])
  })

  it('a lapsed holder that records while another opens: one of them goes on', async () => {
    const rounds = Array.from({ length: 8 }, async (_, round) => {
      const s = await fresh()
      const a = await s.opened(s.call('a'))
      await s.advance(s.leaseMs)
      const moves = [() => s.record(a), async () => (await s.open(s.call('b'))).verdict]
      const answers = await Promise.all((round % 2 ? moves.reverse() : moves).map(move => move()))
      return round % 2 ? answers.reverse() : answers
    })
    const allowed = [
      ['recorded', 'inProgress'],
      ['superseded', 'opened'],
    ]
    for (const answers of await Promise.all(rounds)) expect(allowed).toContainEqual(answers)
  })
}

function race(call: (token: string) => Hold, s: Scene): Promise<string[]> {
  const calls = Array.from({ length: RACERS }, (_, at) => call(`racer-${at}`))
  return Promise.all(calls.map(async hold => (await s.open(hold)).verdict))
}
