import type { OpenMove } from '../../ports/charge-store.js'
import { type Cases, owed, replayed, type Scene } from './fixture.js'

const KIB = 1_024
const ANSWER = 'a'.repeat(512 * KIB)

/** Callers of whom only the payment's bytes and an address are known, answers that lost their key, and an owner's budget. */
export function bearerCases({ expect, it, fresh }: Cases): void {
  const openAs = (s: Scene, token: string, over: object, more: Partial<OpenMove>) =>
    s.store.open({ ...s.call(token, over), leaseMs: s.leaseMs, ...more })
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

  it('a forfeited answer stays under its payment’s own name, for its owner and its request', async s => {
    await s.ended(s.call('a'), 'forfeit', 'lost', { answerName: 'own' })
    const own = { answerName: 'own' }
    expect(replayed(await openAs(s, 'b', {}, own))).toBe('lost')
    expect((await openAs(s, 'b', { body: 'another body' }, own)).verdict).toBe('spent')
    expect((await openAs(s, 'b', {}, { ...own, ...bearer })).verdict).toBe('spent')
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

  it('an answer under its payment’s name is no other payment’s', async s => {
    await s.ended(s.call('a'), 'forfeit', 'lost', { answerName: 'own' })
    expect(await openAs(s, 'b', { payment: 'free' }, { answerName: 'own' })).toEqual({ verdict: 'opened' })
  })

  it('newer answers of an owner drop the bytes of its older ones, and never their names', async s => {
    const complete = async (key: string) => {
      await s.ended(s.call(key, { key, payment: key }), 'complete', ANSWER)
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
    const other = await fresh()
    await other.ended(other.call('a'), 'complete')
    expect((await other.open(other.call('b', { payment: 'q' }))).verdict).toBe('replayable')
    await s.advance(s.retentionMs)
    expect(await s.open(s.call('late', { key: 'key-0', payment: 'late' }))).toEqual({ verdict: 'opened' })
  })

  it('an owner’s budget drops no answer in doubt', async s => {
    await s.orphan('in doubt')
    for (let at = 0; at < 9; at++)
      await s.ended(s.call(`t${at}`, { key: `key-${at}`, payment: `p${at}` }), 'complete', ANSWER)
    expect(owed(await s.open(s.call('successor')))).toBe('in doubt')
  })
}
