import type { TestRunner } from '../runner.js'
import { closedCall, type MakeChargeStore, orphan, scene, text } from './fixture.js'

/** A connection may be lost after a move and before its answer: then the same token sends the move again. */
export function resentMovesCases({ expect, it }: TestRunner, make: MakeChargeStore): void {
  it('the same token may open twice', async () => {
    const s = await scene(make)
    for (const over of [{}, { key: null, payment: 'q' }, { key: 'other', payment: null }]) {
      expect(await s.open(s.call('a', over))).toEqual({ verdict: 'opened' })
      expect(await s.open(s.call('a', over))).toEqual({ verdict: 'opened' })
    }
  })

  it('the same token may take an orphan over twice', async () => {
    const s = await scene(make)
    await orphan(s)
    expect((await s.open(s.call('successor'))).verdict).toBe('orphaned')
    expect((await s.open(s.call('successor'))).verdict).toBe('orphaned')
  })

  it('the same token may record twice', async () => {
    const s = await scene(make)
    for (const over of [{}, { key: null, payment: 'q' }, { key: 'other', payment: null }]) {
      const a = s.call('a', over)
      await s.open(a)
      expect(await s.record(a)).toBe('recorded')
      expect(await s.record(a)).toBe('recorded')
    }
  })

  it('the same token may record another answer while its outcome is open', async () => {
    const s = await scene(make)
    const a = s.call('a')
    await s.open(a)
    await s.record(a, '')
    expect(await s.record(a, 'the whole')).toBe('recorded')
    await s.advance(s.leaseMs)
    const b = s.call('b')
    const orphaned = await s.open(b)
    expect(orphaned.verdict === 'orphaned' && text(orphaned.recorded.answer)).toBe('the whole')
    expect(await s.record(a, 'of the one before')).toBe('superseded')
    await s.resolve(b, 'found')
    const replayed = await s.open(s.call('c'))
    expect(replayed.verdict === 'replayable' && text(replayed.answer)).toBe('the whole')
  })

  it('the same token may close twice, and the second changes nothing for who came between', async () => {
    const s = await scene(make)
    for (const how of ['release', 'forfeit'] as const) {
      const a = s.call('a', { payment: how })
      const b = s.call('b', { payment: 'between' })
      await s.open(a)
      await s.record(a)
      await s.close(a, how)
      expect(await s.open(b)).toEqual({ verdict: 'opened' })
      await s.close(a, how)
      expect((await s.open(s.call('c', { payment: 'q' }))).verdict).toBe('inProgress')
      await s.close(b, 'release')
    }
  })

  it('the same token may complete twice, and the window is not lengthened', async () => {
    const s = await scene(make)
    const a = await closedCall(s, 'complete')
    await s.advance(s.retentionMs / 2)
    await s.close(a, 'complete')
    await s.advance(s.retentionMs / 2)
    expect(await s.open(s.call('b', { payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('the same token may resolve twice', async () => {
    const answers = { found: 'completed', dead: 'opened' } as const
    for (const verdict of ['found', 'dead'] as const) {
      const s = await scene(make)
      await orphan(s, 'owed')
      const successor = s.call('successor', { payment: 'q' })
      await s.open(successor)
      expect(await s.resolve(successor, verdict)).toBe(answers[verdict])
      expect(await s.resolve(successor, verdict)).toBe(answers[verdict])
    }
  })

  it('a resent move that arrives after the next one does not undo it', async () => {
    const s = await scene(make)
    const a = s.call('a')
    await s.open(a)
    await s.record(a, 'kept')
    await s.open(a)
    await s.close(a, 'complete')
    await s.record(a, 'late')
    const again = await s.open(s.call('b'))
    expect(again.verdict === 'replayable' && text(again.answer)).toBe('kept')
    expect(await s.open(s.call('c', { key: null }))).toEqual({ verdict: 'spent' })
  })
}
