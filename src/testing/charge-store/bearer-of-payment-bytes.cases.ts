import { type Cases, openAs, replayed } from './fixture.js'

/** Callers of whom only the payment's bytes and an address are known. */
export function bearerCases({ expect, it, fresh }: Cases): void {
  const bearer = { isBearer: true, caller: 'here' } as const

  it('to a bearer a claim of another payment counts as absent where the payment is spent or held', async s => {
    await s.ended(s.call('spender', { key: null, payment: 'spent' }), 'complete')
    await s.open(s.call('holder', { key: null, payment: 'held' }))
    await s.open(s.call('worker', { key: 'at work', payment: 'w' }))
    await s.ended(s.call('done', { key: 'done', payment: 'd' }), 'complete')
    for (const key of ['at work', 'done', 'nothing'])
      for (const body of ['body', 'another body']) {
        expect((await openAs(s, 'b', { key, body, payment: 'spent' }, bearer)).verdict).toBe('spent')
        expect((await openAs(s, 'b', { key, body, payment: 'held' }, bearer)).verdict).toBe('inUse')
      }
  })

  it('to a bearer with a payment that the store does not know a claim is unsure, and nothing is taken', async s => {
    await s.ended(s.call('a'), 'complete')
    expect(await openAs(s, 'b', { payment: 'new' }, bearer)).toEqual({ verdict: 'unsure' })
    expect(await openAs(s, 'b', { payment: 'new', body: 'another body' }, bearer)).toEqual({
      verdict: 'unsure',
    })
    expect(await s.open(s.call('c', { key: null, payment: 'new' }))).toEqual({ verdict: 'opened' })
    expect(replayed(await s.open(s.call('d', { payment: 'q' })))).toBe('answer')
  })

  it('a bearer of the payment at work is told that it is in progress, and takes it over when its lease is over', async s => {
    expect(await openAs(s, 'a', {}, bearer)).toEqual({ verdict: 'opened' })
    expect((await openAs(s, 'b', {}, bearer)).verdict).toBe('inProgress')
    await s.advance(s.leaseMs)
    expect(await openAs(s, 'b', {}, { isBearer: true, caller: 'there' })).toEqual({ verdict: 'opened' })
  })

  it('in doubt, and after it was found, the claim opens to the bearer of its payment from the same caller alone', async s => {
    await openAs(s, 'dead', {}, bearer)
    await s.record(s.call('dead'), 'owed')
    await s.advance(s.leaseMs)
    const strangers = [{ isBearer: true, caller: 'there' }, { isBearer: true }] as const
    for (const stranger of strangers) expect((await openAs(s, 's', {}, stranger)).verdict).toBe('inUse')
    expect((await openAs(s, 'a', {}, bearer)).verdict).toBe('orphaned')
    expect(await s.resolve(s.call('a'), 'found')).toBe('completed')
    for (const stranger of strangers) expect((await openAs(s, 's', {}, stranger)).verdict).toBe('spent')
    expect(replayed(await openAs(s, 'b', {}, bearer))).toBe('owed')
  })

  it('in doubt, another payment from the same caller opens nothing', async s => {
    await openAs(s, 'dead', {}, bearer)
    await s.record(s.call('dead'))
    await s.advance(s.leaseMs)
    await s.ended(s.call('other', { key: null, payment: 'q' }), 'complete')
    expect((await openAs(s, 'b', { payment: 'q' }, bearer)).verdict).toBe('spent')
  })

  it('completed by the call that recorded it, a claim opens to no bearer', async s => {
    await openAs(s, 'a', {}, bearer)
    await s.record(s.call('a'))
    await s.close(s.call('a'), 'complete')
    expect((await openAs(s, 'b', {}, bearer)).verdict).toBe('spent')
    expect((await s.open(s.call('c'))).verdict).toBe('replayable')
  })

  it('a claim that is opened anew has the address of its new caller, or none', async () => {
    for (const next of [{ caller: 'there' }, {}] as const) {
      const s = await fresh()
      await openAs(s, 'a', { payment: 'p' }, { caller: 'here' })
      await s.advance(s.leaseMs)
      await openAs(s, 'b', { payment: 'q' }, next)
      await s.record(s.call('b', { payment: 'q' }))
      await s.advance(s.leaseMs)
      const stale = await openAs(s, 'c', { payment: 'q' }, bearer)
      expect(stale.verdict).toBe('inUse')
      const there = await openAs(s, 'd', { payment: 'q' }, { isBearer: true, caller: 'there' })
      expect(there.verdict).toBe('caller' in next ? 'orphaned' : 'inUse')
    }
  })

  it('without an address no bearer opens what was opened without one', async s => {
    await openAs(s, 'dead', {}, { isBearer: true })
    await s.record(s.call('dead'))
    await s.advance(s.leaseMs)
    expect((await openAs(s, 'b', {}, { isBearer: true })).verdict).toBe('inUse')
  })

  it('a claim in doubt whose payment the store forgot is unsure', async s => {
    await openAs(s, 'dead', {}, bearer)
    await s.record(s.call('dead'), 'owed', { paymentTtlMs: s.leaseMs })
    await s.advance(2 * s.leaseMs)
    expect((await openAs(s, 'b', {}, bearer)).verdict).toBe('unsure')
  })
}
