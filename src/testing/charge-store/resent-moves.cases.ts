import { type Cases, owed, replayed } from './fixture.js'

/** A connection may be lost after a move and before its answer: then the same token sends the move again. */
export function resentMovesCases({ expect, it, fresh }: Cases): void {
  it('the same token may open twice', async s => {
    for (const over of [{}, { key: null, payment: 'q' }, { key: 'other', payment: null }]) {
      expect(await s.open(s.call('a', over))).toEqual({ verdict: 'opened' })
      expect(await s.open(s.call('a', over))).toEqual({ verdict: 'opened' })
    }
  })

  it('the same token may take an orphan over twice', async s => {
    await s.orphan()
    expect((await s.open(s.call('successor'))).verdict).toBe('orphaned')
    expect((await s.open(s.call('successor'))).verdict).toBe('orphaned')
  })

  it('the same token may record twice', async s => {
    for (const over of [{}, { key: null, payment: 'q' }, { key: 'other', payment: null }]) {
      const a = await s.opened(s.call('a', over))
      expect(await s.record(a)).toBe('recorded')
      expect(await s.record(a)).toBe('recorded')
    }
  })

  it('the same token may record another answer while its outcome is open', async s => {
    const a = await s.recorded(s.call('a'), '')
    expect(await s.record(a, 'the whole')).toBe('recorded')
    await s.advance(s.leaseMs)
    const b = s.call('b')
    expect(owed(await s.open(b))).toBe('the whole')
    expect(await s.record(a, 'of the one before')).toBe('superseded')
    await s.resolve(b, 'found')
    expect(replayed(await s.open(s.call('c')))).toBe('the whole')
  })

  it('the same token may close twice, and the second changes nothing for who came between', async s => {
    for (const how of ['release', 'forfeit'] as const) {
      const a = s.call('a', { payment: how })
      const b = s.call('b', { payment: 'between' })
      await s.ended(a, how)
      expect(await s.open(b)).toEqual({ verdict: 'opened' })
      await s.close(a, how)
      expect((await s.open(s.call('c', { payment: 'q' }))).verdict).toBe('inProgress')
      await s.close(b, 'release')
    }
  })

  it('the same token may complete twice, and the window is not lengthened', async s => {
    const a = await s.ended(s.call('a'), 'complete')
    await s.advance(s.retentionMs / 2)
    await s.close(a, 'complete')
    await s.advance(s.retentionMs / 2)
    expect(await s.open(s.call('b', { payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('the same token may resolve twice', async () => {
    const answers = { found: 'completed', dead: 'opened' } as const
    for (const verdict of ['found', 'dead'] as const) {
      const s = await fresh()
      const successor = await s.adopted(s.call('successor', { payment: 'q' }), 'owed')
      expect(await s.resolve(successor, verdict)).toBe(answers[verdict])
      expect(await s.resolve(successor, verdict)).toBe(answers[verdict])
    }
  })

  it('a resent move that arrives after the next one does not undo it', async s => {
    const a = await s.recorded(s.call('a'), 'kept')
    await s.open(a)
    await s.close(a, 'complete')
    await s.record(a, 'late')
    expect(replayed(await s.open(s.call('b')))).toBe('kept')
    expect(await s.open(s.call('c', { key: null }))).toEqual({ verdict: 'spent' })
  })
}
