import type { Hold } from '../../ports/charge-store.js'
import type { TestRunner } from '../runner.js'
import type { Cases, Scene } from './fixture.js'

export function openCases({ expect, it, fresh }: Cases): void {
  it('a claim is held by one call at a time, and refusals say for how long', async s => {
    expect(await s.open(s.call('a'))).toEqual({ verdict: 'opened' })
    const refused = await s.open(s.call('b', { payment: 'q' }))
    expect(refused).toEqual({ verdict: 'inProgress', retryAfterMs: expect.any(Number) })
    expectWithin(expect, refused, s.leaseMs)
  })

  it('a payment is held once, whoever presents it', async s => {
    await s.open(s.call('a', { key: null }))
    for (const key of [null, 'another key']) {
      const refused = await s.open(s.call('b', { key }))
      expect(refused).toEqual({ verdict: 'inUse', retryAfterMs: expect.any(Number) })
      expectWithin(expect, refused, s.leaseMs)
    }
  })

  it('claims of other slots and of other names are other claims', async s => {
    const other = await fresh()
    expect(await s.open(s.call('a'))).toEqual({ verdict: 'opened' })
    expect(await s.open(s.call('b', { key: 'other', payment: 'q' }))).toEqual({ verdict: 'opened' })
    expect(await other.open(other.call('c'))).toEqual({ verdict: 'opened' })
  })

  it('either half may be missing', async s => {
    expect(await s.open(s.call('a', { payment: null }))).toEqual({ verdict: 'opened' })
    expect(await s.open(s.call('b', { key: null }))).toEqual({ verdict: 'opened' })
    expect((await s.open(s.call('c', { payment: null }))).verdict).toBe('inProgress')
    expect((await s.open(s.call('d', { key: null }))).verdict).toBe('inUse')
  })

  it('a key is bound to one body from its first call on', async s => {
    const a = s.call('a')
    const other = s.call('b', { body: 'another body', payment: 'q' })
    await s.open(a)
    expect(await s.open(other)).toEqual({ verdict: 'reused' })
    await s.record(a)
    expect(await s.open(other)).toEqual({ verdict: 'reused' })
    await s.close(a, 'complete')
    expect(await s.open(other)).toEqual({ verdict: 'reused' })
  })

  it('a refused open takes neither half', async s => {
    await s.open(s.call('a', { key: null, payment: 'p' }))
    expect((await s.open(s.call('b', { payment: 'p' }))).verdict).toBe('inUse')
    expect(await s.open(s.call('c', { payment: 'q' }))).toEqual({ verdict: 'opened' })
    expect((await s.open(s.call('d', { payment: 'r' }))).verdict).toBe('inProgress')
    expect(await s.open(s.call('e', { key: null, payment: 'r' }))).toEqual({ verdict: 'opened' })
  })

  it('verdicts come in the order reused, replayable, orphaned, inProgress, spent, inUse, opened', async s => {
    await s.ended(s.call('spender', { key: null, payment: 'spent' }), 'complete')
    await s.open(s.call('holder', { key: null, payment: 'held' }))
    await s.ended(s.call('completer', { key: 'completed', payment: 'x' }), 'complete')
    await s.open(s.call('worker', { key: 'at work', payment: 'y' }))

    const verdict = async (key: string, payment: string, body = 'body') =>
      (await s.open(s.call('late', { key, payment, body }))).verdict
    expect(await verdict('completed', 'spent', 'another body')).toBe('reused')
    expect(await verdict('at work', 'held', 'another body')).toBe('reused')
    expect(await verdict('completed', 'spent')).toBe('replayable')
    expect(await verdict('completed', 'held')).toBe('replayable')
    expect(await verdict('at work', 'spent')).toBe('inProgress')
    expect(await verdict('at work', 'held')).toBe('inProgress')
    expect(await verdict('new', 'spent')).toBe('spent')
    expect(await verdict('new', 'held')).toBe('inUse')
    expect(await verdict('new', 'free')).toBe('opened')
  })

  it('orphaned comes before what the presented payment is, and does not take that payment', async s => {
    const dead = await s.orphan()
    await s.open(s.call('holder', { key: null, payment: 'held' }))
    expect((await s.open(s.call('successor', { payment: 'held' }))).verdict).toBe('orphaned')
    await s.advance(s.leaseMs)
    expect((await s.open({ ...dead, token: 'next' })).verdict).toBe('orphaned')
    await s.advance(s.leaseMs)
    expect((await s.open(s.call('third', { payment: 'free' }))).verdict).toBe('orphaned')
    expect(await s.open(s.call('anybody', { key: null, payment: 'free' }))).toEqual({ verdict: 'opened' })
  })

  it('a resent open of a call that has recorded gives nothing back', async s => {
    const a = await s.recorded(s.call('a', { key: null }))
    expect((await s.open(a)).verdict).toBe('inUse')
    await s.advance(2 * s.leaseMs)
    expect((await s.open(s.call('b', { key: null }))).verdict).toBe('inUse')
  })
}

function expectWithin(expect: TestRunner['expect'], refused: object, leaseMs: number): void {
  const { retryAfterMs } = refused as { retryAfterMs: number }
  expect(retryAfterMs).toBeGreaterThan(0)
  expect(retryAfterMs).toBeLessThanOrEqual(leaseMs)
}

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
