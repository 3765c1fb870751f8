import type { OpenMove } from '../../ports/charge-store.js'
import type { TestRunner } from '../runner.js'
import { closedCall, type MakeChargeStore, orphan, type Scene, scene, text } from './fixture.js'

const KIB = 1_024
const ANSWER = 'a'.repeat(512 * KIB)

/** Callers of whom only the payment's bytes and an address are known, answers that lost their key, and an owner's budget. */
export function bearerCases({ expect, it }: TestRunner, make: MakeChargeStore): void {
  const openAs = (s: Scene, token: string, over: object, more: Partial<OpenMove>) =>
    s.store.open({ ...s.call(token, over), leaseMs: s.leaseMs, ...more })
  const bearer = { isBearer: true, caller: 'here' } as const

  it('to a bearer a claim of another payment counts as absent where the payment is spent or held', async () => {
    const s = await scene(make)
    const spender = s.call('spender', { key: null, payment: 'spent' })
    await s.open(spender)
    await s.record(spender)
    await s.close(spender, 'complete')
    await s.open(s.call('holder', { key: null, payment: 'held' }))
    await s.open(s.call('worker', { key: 'at work', payment: 'w' }))
    const done = s.call('done', { key: 'done', payment: 'd' })
    await s.open(done)
    await s.record(done)
    await s.close(done, 'complete')
    for (const key of ['at work', 'done', 'nothing']) {
      for (const body of ['body', 'another body']) {
        expect((await openAs(s, 'b', { key, body, payment: 'spent' }, bearer)).verdict).toBe('spent')
        expect((await openAs(s, 'b', { key, body, payment: 'held' }, bearer)).verdict).toBe('inUse')
      }
    }
  })

  it('to a bearer with a payment that the store does not know a claim is unsure, and nothing is taken', async () => {
    const s = await scene(make)
    await closedCall(s, 'complete')
    expect(await openAs(s, 'b', { payment: 'new' }, bearer)).toEqual({ verdict: 'unsure' })
    expect(await openAs(s, 'b', { payment: 'new', body: 'another body' }, bearer)).toEqual({
      verdict: 'unsure',
    })
    expect(await s.open(s.call('c', { key: null, payment: 'new' }))).toEqual({ verdict: 'opened' })
    const again = await s.open(s.call('d', { payment: 'q' }))
    expect(again.verdict === 'replayable' && text(again.answer)).toBe('answer')
  })

  it('a bearer of the payment at work is told that it is in progress, and takes it over when its lease is over', async () => {
    const s = await scene(make)
    expect(await openAs(s, 'a', {}, bearer)).toEqual({ verdict: 'opened' })
    expect((await openAs(s, 'b', {}, bearer)).verdict).toBe('inProgress')
    await s.advance(s.leaseMs)
    expect(await openAs(s, 'b', {}, { isBearer: true, caller: 'there' })).toEqual({ verdict: 'opened' })
  })

  it('in doubt, and after it was found, the claim opens to the bearer of its payment from the same caller alone', async () => {
    const s = await scene(make)
    await openAs(s, 'dead', {}, bearer)
    await s.record(s.call('dead'), 'owed')
    await s.advance(s.leaseMs)
    const strangers = [{ isBearer: true, caller: 'there' }, { isBearer: true }] as const
    for (const stranger of strangers) expect((await openAs(s, 's', {}, stranger)).verdict).toBe('inUse')
    expect((await openAs(s, 'a', {}, bearer)).verdict).toBe('orphaned')
    expect(await s.resolve(s.call('a'), 'found')).toBe('completed')
    for (const stranger of strangers) expect((await openAs(s, 's', {}, stranger)).verdict).toBe('spent')
    const again = await openAs(s, 'b', {}, bearer)
    expect(again.verdict === 'replayable' && text(again.answer)).toBe('owed')
  })

  it('in doubt, another payment from the same caller opens nothing', async () => {
    const s = await scene(make)
    await openAs(s, 'dead', {}, bearer)
    await s.record(s.call('dead'))
    await s.advance(s.leaseMs)
    const other = s.call('other', { key: null, payment: 'q' })
    await s.open(other)
    await s.record(other)
    await s.close(other, 'complete')
    expect((await openAs(s, 'b', { payment: 'q' }, bearer)).verdict).toBe('spent')
  })

  it('completed by the call that recorded it, a claim opens to no bearer', async () => {
    const s = await scene(make)
    await openAs(s, 'a', {}, bearer)
    await s.record(s.call('a'))
    await s.close(s.call('a'), 'complete')
    expect((await openAs(s, 'b', {}, bearer)).verdict).toBe('spent')
    expect((await s.open(s.call('c'))).verdict).toBe('replayable')
  })

  it('a claim that is opened anew has the address of its new caller, or none', async () => {
    for (const next of [{ caller: 'there' }, {}] as const) {
      const s = await scene(make)
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

  it('a forfeited answer stays under its payment’s own name, for its owner and its request', async () => {
    const s = await scene(make)
    const a = s.call('a')
    await s.open(a)
    await s.record(a, 'lost')
    await s.store.close({ ...a, how: 'forfeit', retentionMs: s.retentionMs, answerName: 'own' })
    const own = { answerName: 'own' }
    const again = await openAs(s, 'b', {}, own)
    expect(again.verdict === 'replayable' && text(again.answer)).toBe('lost')
    expect((await openAs(s, 'b', { body: 'another body' }, own)).verdict).toBe('spent')
    expect((await openAs(s, 'b', {}, { ...own, ...bearer })).verdict).toBe('spent')
    expect((await s.open(s.call('b'))).verdict).toBe('spent')
    const named = await s.open(s.call('b', { key: 'own' }))
    expect(named.verdict === 'replayable' && text(named.answer)).toBe('lost')
    expect(await s.open(s.call('c', { payment: 'q' }))).toEqual({ verdict: 'opened' })
    await s.advance(s.retentionMs)
    expect((await openAs(s, 'd', { payment: 'p', key: 'another' }, own)).verdict).toBe('spent')
  })

  it('a forfeited answer stays its payment’s, although another payment has the key since', async () => {
    const s = await scene(make)
    const a = s.call('a')
    await s.open(a)
    await s.record(a, 'lost')
    await s.store.close({ ...a, how: 'forfeit', retentionMs: s.retentionMs, answerName: 'own' })
    const b = s.call('b', { payment: 'q' })
    await s.open(b)
    await s.record(b, 'the second')
    await s.close(b, 'complete')
    const first = await openAs(s, 'c', {}, { answerName: 'own' })
    expect(first.verdict === 'replayable' && text(first.answer)).toBe('lost')
    const second = await openAs(s, 'd', { payment: 'q' }, { answerName: 'other' })
    expect(second.verdict === 'replayable' && text(second.answer)).toBe('the second')
  })

  it('a forfeited answer takes its payment’s name from a call that stopped before it recorded', async () => {
    const s = await scene(make)
    await s.open(s.call('stopped', { key: 'own' }))
    await s.advance(s.leaseMs)
    const a = s.call('a')
    await s.open(a)
    await s.record(a, 'lost')
    await s.store.close({ ...a, how: 'forfeit', retentionMs: s.retentionMs, answerName: 'own' })
    expect(await s.close(s.call('stopped', { key: 'own' }), 'release')).toBe('superseded')
    const again = await openAs(s, 'b', {}, { answerName: 'own' })
    expect(again.verdict === 'replayable' && text(again.answer)).toBe('lost')
  })

  it('a second forfeit under the same name replaces nothing, and a completion files nothing there', async () => {
    const s = await scene(make)
    for (const [token, key, payment, how] of [
      ['a', 'one', 'p', 'forfeit'],
      ['b', 'two', 'q', 'forfeit'],
      ['c', 'three', 'r', 'complete'],
    ] as const) {
      const call = s.call(token, { key, payment })
      await s.open(call)
      await s.record(call, token)
      const answerName = how === 'complete' ? 'none' : 'own'
      await s.store.close({ ...call, how, retentionMs: s.retentionMs, answerName })
    }
    const kept = await s.open(s.call('r', { key: 'own', payment: null }))
    expect(kept.verdict === 'replayable' && text(kept.answer)).toBe('a')
    expect(await s.open(s.call('r', { key: 'none', payment: null }))).toEqual({ verdict: 'opened' })
  })

  it('without an address no bearer opens what was opened without one', async () => {
    const s = await scene(make)
    await openAs(s, 'dead', {}, { isBearer: true })
    await s.record(s.call('dead'))
    await s.advance(s.leaseMs)
    expect((await openAs(s, 'b', {}, { isBearer: true })).verdict).toBe('inUse')
  })

  it('a claim in doubt whose payment the store forgot is unsure', async () => {
    const s = await scene(make)
    await openAs(s, 'dead', {}, bearer)
    await s.record(s.call('dead'), 'owed', { paymentTtlMs: s.leaseMs })
    await s.advance(2 * s.leaseMs)
    expect((await openAs(s, 'b', {}, bearer)).verdict).toBe('unsure')
  })

  it('an answer under its payment’s name is no other payment’s', async () => {
    const s = await scene(make)
    const a = s.call('a')
    await s.open(a)
    await s.record(a, 'lost')
    await s.store.close({ ...a, how: 'forfeit', retentionMs: s.retentionMs, answerName: 'own' })
    expect(await openAs(s, 'b', { payment: 'free' }, { answerName: 'own' })).toEqual({ verdict: 'opened' })
  })

  it('newer answers of an owner drop the bytes of its older ones, and never their names', async () => {
    const s = await scene(make)
    const complete = async (key: string) => {
      const call = s.call(key, { key, payment: key })
      await s.open(call)
      await s.record(call, ANSWER)
      await s.close(call, 'complete')
    }
    for (let at = 0; at < 10; at++) await complete(`key-${at}`)
    const verdicts = []
    for (let at = 0; at < 10; at++)
      verdicts.push(await s.open(s.call('r', { key: `key-${at}`, payment: 'new' })))
    expect(verdicts[0]).toEqual({ verdict: 'notKept', txId: s.txId('key-0') })
    expect(verdicts.at(-1)!.verdict).toBe('replayable')
    const kept = verdicts.filter(({ verdict }) => verdict === 'replayable')
    expect(kept.length).toBeGreaterThan(6)
    expect(kept.length).toBeLessThan(10)
    const other = await scene(make)
    await closedCall(other, 'complete')
    expect((await other.open(other.call('b', { payment: 'q' }))).verdict).toBe('replayable')
    await s.advance(s.retentionMs)
    expect(await s.open(s.call('late', { key: 'key-0', payment: 'late' }))).toEqual({ verdict: 'opened' })
  })

  it('an owner’s budget drops no answer in doubt', async () => {
    const s = await scene(make)
    await orphan(s, 'in doubt')
    for (let at = 0; at < 9; at++) {
      const call = s.call(`t${at}`, { key: `key-${at}`, payment: `p${at}` })
      await s.open(call)
      await s.record(call, ANSWER)
      await s.close(call, 'complete')
    }
    const found = await s.open(s.call('successor'))
    expect(found.verdict === 'orphaned' && text(found.recorded.answer)).toBe('in doubt')
  })
}
