import { type Cases, openAs, replayed, text } from './fixture.js'

export function closeCases({ expect, it, fresh }: Cases): void {
  it('a completed claim is replayed to every caller of its window, and then forgotten', async s => {
    await s.ended(s.call('a'), 'complete', 'the answer')
    for (const token of ['a', 'b', 'c']) {
      const again = await s.open(s.call(token, { payment: token }))
      expect(again.verdict === 'replayable' && text(again.answer)).toBe('the answer')
    }
    await s.advance(s.retentionMs)
    expect(await s.open(s.call('d', { payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('an answer that comes with its completion is kept instead of the recorded one', async s => {
    const a = await s.recorded(s.call('a'))
    await s.close(a, 'complete', 'the whole stream')
    expect(replayed(await s.open(s.call('b', { payment: 'b' })))).toBe('the whole stream')
  })

  it('a completed payment stays spent, whatever leases and windows do', async s => {
    const a = await s.ended(s.call('a'), 'complete')
    await s.advance(s.retentionMs + s.leaseMs)
    expect(await s.open(s.call('b', { key: null }))).toEqual({ verdict: 'spent' })
    expect(await s.open(s.call('c'))).toEqual({ verdict: 'spent' })
    expect(await s.open(a)).toEqual({ verdict: 'spent' })
  })

  it('forfeit gives the key back and keeps the payment spent', async s => {
    await s.ended(s.call('a'), 'forfeit')
    expect(await s.open(s.call('b'))).toEqual({ verdict: 'spent' })
    expect(await s.open(s.call('c', { payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('release frees both, before recording and after', async s => {
    for (const recorded of [false, true]) {
      const a = s.call(`a ${recorded}`)
      expect(await s.open(a)).toEqual({ verdict: 'opened' })
      if (recorded) await s.record(a)
      await s.close(a, 'release')
    }
    expect(await s.open(s.call('b'))).toEqual({ verdict: 'opened' })
  })

  it('release frees both or neither: a payment whose claim was taken over waits for the successor', async s => {
    const dead = await s.orphan()
    await s.open(s.call('successor', { payment: 'q' }))
    await s.close(dead, 'release')
    expect((await s.open(s.call('payer', { key: null }))).verdict).toBe('inUse')
  })

  it('a late complete of a call whose claim was taken over spends its payment and leaves the claim', async s => {
    const dead = await s.orphan()
    await s.open(s.call('successor', { payment: 'q' }))
    await s.close(dead, 'complete')
    expect(await s.open(s.call('payer', { key: null }))).toEqual({ verdict: 'spent' })
    expect((await s.open(s.call('another', { payment: 'q' }))).verdict).toBe('inProgress')
  })

  it('says whether it ended all that the call held', async s => {
    for (const how of ['release', 'complete', 'forfeit'] as const)
      for (const over of [{}, { key: null }, { payment: null }]) {
        const name = `${how} ${Object.keys(over)}`
        const a = await s.recorded(s.call('a', { key: name, payment: name, ...over }))
        expect(await s.close(a, how)).toBe('closed')
        // The same move sent again cannot tell its own work from another call's, and says so.
        expect(await s.close(a, how)).toBe('superseded')
      }
    expect(await s.close(s.call('never', { key: 'never', payment: 'never' }), 'release')).toBe('superseded')
  })

  it('says superseded to a call that was taken over, whatever its successor has done since', async () => {
    for (const next of ['nothing', 'found', 'dead'] as const) {
      const s = await fresh()
      const dead = await s.orphan()
      const successor = { ...dead, token: 'successor' }
      await s.open(successor)
      if (next !== 'nothing') await s.resolve(successor, next)
      expect(await s.close(dead, 'release')).toBe('superseded')
      if (next === 'found') await s.advance(s.retentionMs)
      expect(await s.close(dead, 'release')).toBe('superseded')
    }
  })

  it('a stale token cannot record, complete, forfeit or release', async s => {
    const stale = s.call('stale')
    const holder = s.call('holder')
    await s.open(stale)
    await s.advance(s.leaseMs)
    await s.open(holder)
    expect(await s.record(stale)).toBe('superseded')
    for (const how of ['complete', 'forfeit', 'release'] as const) {
      await s.close(stale, how, 'stale answer')
      expect((await s.open(s.call('other'))).verdict).toBe('inProgress')
      expect((await s.open(s.call('other', { key: null }))).verdict).toBe('inUse')
    }
    expect(await s.record(holder)).toBe('recorded')
  })

  it('a token that never opened can do nothing', async s => {
    const nobody = s.call('nobody')
    expect(await s.record(nobody)).toBe('superseded')
    for (const how of ['complete', 'forfeit', 'release'] as const) await s.close(nobody, how, 'answer')
    expect(await s.resolve(nobody, 'found')).toBe('moved')
    expect(await s.open(s.call('a'))).toEqual({ verdict: 'opened' })
  })

  it('a call that a window covered completes with its own answer, and its payment is given back', async s => {
    const a = await s.opened(s.call('a'))
    await s.close(a, 'complete', 'covered')
    expect(replayed(await s.open(s.call('b')))).toBe('covered')
    expect(await s.open(s.call('c', { key: null }))).toEqual({ verdict: 'opened' })
  })

  it('complete without an answer has nothing to replay: the key is given back', async s => {
    const a = await s.opened(s.call('a'))
    expect(await s.close(a, 'complete')).toBe('closed')
    expect(await s.open(s.call('b'))).toEqual({ verdict: 'opened' })
  })

  it('forfeit and release give the key back, whatever answer comes with them', async s => {
    for (const how of ['forfeit', 'release'] as const) {
      const a = s.call(how)
      expect(await s.open(a)).toEqual({ verdict: 'opened' })
      expect(await s.close(a, how, 'an answer')).toBe('closed')
    }
    expect(await s.open(s.call('b'))).toEqual({ verdict: 'opened' })
  })

  it('a completed answer never changes', async s => {
    const a = await s.recorded(s.call('a'), 'first')
    await s.close(a, 'complete', 'second')
    await s.close(a, 'complete', 'third')
    await s.record(a, 'fourth')
    await s.close(a, 'release')
    await s.close(a, 'forfeit')
    expect(replayed(await s.open(s.call('b')))).toBe('second')
  })

  it('answers are bytes, kept exactly, and nobody’s to change', async s => {
    const all = Uint8Array.from({ length: 100_000 }, (_, at) => at % 256)
    const sent = all.slice()
    const a = await s.opened(s.call('a'))
    await s.record(a, '', { recorded: { answer: sent } })
    sent.fill(0)
    await s.close(a, 'complete')
    for (const token of ['b', 'c']) {
      const again = await s.open(s.call(token))
      if (again.verdict !== 'replayable') throw new Error(`expected replayable, not ${again.verdict}`)
      expect(Buffer.compare(again.answer, all)).toBe(0)
      again.answer.fill(0)
    }
  })

  it('a forfeited answer stays under its payment’s own name, for its owner and its request', async s => {
    await s.ended(s.call('a'), 'forfeit', 'lost', { answerName: 'own' })
    const own = { answerName: 'own' }
    expect(replayed(await openAs(s, 'b', {}, own))).toBe('lost')
    expect((await openAs(s, 'b', { body: 'another body' }, own)).verdict).toBe('spent')
    expect((await openAs(s, 'b', {}, { ...own, isBearer: true, caller: 'here' })).verdict).toBe('spent')
    expect((await s.open(s.call('b'))).verdict).toBe('spent')
    expect(replayed(await s.open(s.call('b', { key: 'own' })))).toBe('lost')
    expect(await s.open(s.call('c', { payment: 'q' }))).toEqual({ verdict: 'opened' })
    await s.advance(s.retentionMs)
    expect((await openAs(s, 'd', { payment: 'p', key: 'another' }, own)).verdict).toBe('spent')
  })

  it('a forfeited answer stays its payment’s, although another payment has the key since', async s => {
    await s.ended(s.call('a'), 'forfeit', 'lost', { answerName: 'own' })
    await s.ended(s.call('b', { payment: 'q' }), 'complete', 'the second')
    expect(replayed(await openAs(s, 'c', {}, { answerName: 'own' }))).toBe('lost')
    expect(replayed(await openAs(s, 'd', { payment: 'q' }, { answerName: 'other' }))).toBe('the second')
  })

  it('a forfeited answer takes its payment’s name from a call that stopped before it recorded, and from no other', async s => {
    const stopped = s.call('stopped', { key: 'own' })
    await s.open(stopped)
    await s.advance(s.leaseMs)
    const alive = s.call('alive', { key: 'another’s', payment: 'q' })
    await s.open(alive)
    await s.ended(s.call('a'), 'forfeit', 'lost', { answerName: 'own' })
    expect(await s.close(stopped, 'release')).toBe('superseded')
    expect(replayed(await openAs(s, 'b', {}, { answerName: 'own' }))).toBe('lost')
    await s.ended(s.call('c', { key: 'second', payment: 'r' }), 'forfeit', 'lost', {
      answerName: 'another’s',
    })
    expect(await s.close(alive, 'release')).toBe('closed')
  })

  it('a second forfeit under the same name replaces nothing, and a completion files nothing there', async s => {
    for (const [token, key, payment, how] of [
      ['a', 'one', 'p', 'forfeit'],
      ['b', 'two', 'q', 'forfeit'],
      ['c', 'three', 'r', 'complete'],
    ] as const) {
      const call = await s.recorded(s.call(token, { key, payment }), token)
      const answerName = how === 'complete' ? 'none' : 'own'
      await s.store.close({ ...call, how, retentionMs: s.retentionMs, answerName })
    }
    expect(replayed(await s.open(s.call('r', { key: 'own', payment: null })))).toBe('a')
    expect(await s.open(s.call('r', { key: 'none', payment: null }))).toEqual({ verdict: 'opened' })
  })

  it('an answer under its payment’s name is no other payment’s', async s => {
    await s.ended(s.call('a'), 'forfeit', 'lost', { answerName: 'own' })
    expect(await openAs(s, 'b', { payment: 'free' }, { answerName: 'own' })).toEqual({ verdict: 'opened' })
  })
}
