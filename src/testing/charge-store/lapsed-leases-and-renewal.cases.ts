import { type Cases, owed, text } from './fixture.js'

export function leaseCases({ expect, it, fresh }: Cases): void {
  it('a lease outlives its holder, and not by much', async s => {
    await s.open(s.call('a'))
    await s.advance(s.leaseMs / 2)
    expect((await s.open(s.call('b', { payment: 'q' }))).verdict).toBe('inProgress')
    expect((await s.open(s.call('c', { key: null }))).verdict).toBe('inUse')
    await s.advance(s.leaseMs / 2)
    expect(await s.open(s.call('d'))).toEqual({ verdict: 'opened' })
  })

  for (const [half, over] of [
    ['payment', { key: null }],
    ['claim', { payment: 'q' }],
  ] as const)
    it(`a lapsed ${half} goes to the next call, and its first holder can no longer charge for it`, async () => {
      const s = await fresh()
      const a = s.call('a')
      const b = s.call('b', over)
      await s.open(a)
      await s.advance(s.leaseMs)
      expect(await s.open(b)).toEqual({ verdict: 'opened' })
      expect(await s.record(a)).toBe('superseded')
      expect(await s.record(b)).toBe('recorded')
    })

  it('a lapsed holder may still record where nobody took its place', async s => {
    const a = await s.opened(s.call('a'))
    await s.advance(s.leaseMs)
    expect(await s.record(a)).toBe('recorded')
  })

  it('a recorded claim is never reopened by its lease: it is orphaned, with all that a successor needs', async s => {
    const dead = await s.orphan('the answer')
    const opened = await s.open(s.call('successor', { payment: 'q' }))
    if (opened.verdict !== 'orphaned') throw new Error(`expected orphaned, not ${opened.verdict}`)
    expect(text(opened.recorded.answer)).toBe('the answer')
    expect(opened.recorded.payment).toEqual({ txId: dead.payment, firstValid: 1n, lastValid: 2n ** 53n + 1n })
  })

  it('a recorded payment is never freed by its lease', async s => {
    await s.orphan()
    await s.advance(2 * s.leaseMs)
    const refused = await s.open(s.call('b', { key: null }))
    expect(refused).toEqual({ verdict: 'inUse', retryAfterMs: 0 })
  })

  it('orphaned takes the token over, under a lease of its own', async s => {
    const dead = await s.orphan()
    expect((await s.open(s.call('successor'))).verdict).toBe('orphaned')
    expect((await s.open(s.call('another'))).verdict).toBe('inProgress')
    expect(await s.record(dead)).toBe('superseded')
    await s.close(dead, 'release')
    expect((await s.open(s.call('another'))).verdict).toBe('inProgress')
    expect((await s.open(s.call('payer', { key: null }))).verdict).toBe('inUse')
    await s.advance(s.leaseMs)
    expect((await s.open(s.call('another'))).verdict).toBe('orphaned')
  })

  it('a renewed lease holds for as long as it is renewed, working and settling', async s => {
    const a = await s.opened(s.call('a'))
    for (const move of [() => s.renew(a), () => s.record(a), () => s.renew(a)]) {
      await s.advance((s.leaseMs * 2) / 3)
      await move()
      await s.advance((s.leaseMs * 2) / 3)
      expect((await s.open(s.call('b', { payment: 'q' }))).verdict).toBe('inProgress')
      expect((await s.open(s.call('c', { key: null }))).verdict).toBe('inUse')
      await s.renew(a)
    }
    expect(await s.close(a, 'complete')).toBe('closed')
  })

  it('renewing tells for each hold whether it is still its own, and touches no other', async s => {
    const lives = s.call('lives')
    const keyless = s.call('keyless', { key: null, payment: 'q' })
    const lapses = s.call('lapses', { key: 'other', payment: 'r' })
    const never = s.call('never', { key: 'never', payment: 's' })
    for (const hold of [lives, keyless, lapses]) await s.open(hold)
    expect(await s.store.renew([], s.leaseMs)).toEqual([])
    expect(await s.store.renew([lives, keyless, never, lapses], s.leaseMs)).toEqual([true, true, false, true])
    await s.advance(s.leaseMs)
    expect(await s.open(s.call('successor', { key: 'other', payment: 't' }))).toEqual({ verdict: 'opened' })
    expect(await s.store.renew([lives, lapses, keyless], s.leaseMs)).toEqual([true, false, true])
    await s.advance((s.leaseMs * 2) / 3)
    expect((await s.open(s.call('late', { key: 'other', payment: 'u' }))).verdict).toBe('inProgress')
    expect((await s.open(s.call('late', { payment: 'u' }))).verdict).toBe('inProgress')
    await s.advance(s.leaseMs / 3)
    expect(await s.open(s.call('late', { key: 'other', payment: 'u' }))).toEqual({ verdict: 'opened' })
  })

  it('a lapsed lease that is renewed in time is a lease again', async s => {
    const a = await s.opened(s.call('a'))
    await s.advance(2 * s.leaseMs)
    expect(await s.renew(a)).toBe(true)
    expect((await s.open(s.call('b', { payment: 'q' }))).verdict).toBe('inProgress')
    expect((await s.open(s.call('c', { key: null }))).verdict).toBe('inUse')
    expect(await s.record(a)).toBe('recorded')
  })

  it('a hold of one half is renewed as a whole one is', async () => {
    for (const over of [{ key: null }, { payment: null }]) {
      const s = await fresh()
      const a = await s.opened(s.call('a', over))
      await s.advance((s.leaseMs * 2) / 3)
      expect(await s.renew(a)).toBe(true)
      await s.advance((s.leaseMs * 2) / 3)
      const refused = (await s.open(s.call('b', over))).verdict
      expect(refused).toBe('key' in over ? 'inUse' : 'inProgress')
    }
  })

  it('half a hold is not renewed: the other half is another call’s', async s => {
    const a = await s.opened(s.call('a'))
    await s.advance(s.leaseMs)
    await s.open(s.call('thief', { key: null }))
    expect(await s.renew(a)).toBe(false)
    expect(await s.open(s.call('b', { payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('what is over is not renewed', async s => {
    for (const how of ['complete', 'forfeit', 'release'] as const) {
      const a = s.call('a', { key: how, payment: how })
      await s.ended(a, how)
      expect(await s.renew(a)).toBe(false)
    }
  })

  it('a successor that gives up closes nothing: the recorded answer is still there for the next one', async () => {
    for (const how of ['release', 'forfeit', 'complete'] as const) {
      const s = await fresh()
      await s.orphan('owed')
      const successor = s.call('successor', { payment: 'q' })
      expect((await s.open(successor)).verdict).toBe('orphaned')
      expect(await s.close(successor, how, 'another answer')).toBe('superseded')
      await s.advance(s.leaseMs)
      expect(owed(await s.open(s.call('next', { payment: 'r' })))).toBe('owed')
    }
  })

  it('a successor cannot record before it has resolved', async s => {
    for (const payment of ['q', null]) {
      const key = `key of ${payment}`
      const dead = s.call('dead', { key, payment })
      const successor = s.call('successor', { key, payment })
      await s.recorded(dead)
      await s.advance(s.leaseMs)
      expect((await s.open(successor)).verdict).toBe('orphaned')
      expect(await s.record(successor)).toBe('superseded')
    }
  })
}
