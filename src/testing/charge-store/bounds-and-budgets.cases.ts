import { type Cases, owed, type Scene } from './fixture.js'

const KIB = 1_024
const ANSWER = 'a'.repeat(512 * KIB)

/** The bytes of the answers that are kept for one owner. */
export function ownersBudgetCases({ expect, it, fresh }: Cases): void {
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

/** For stores in bounded memory. The store of `make` holds `max` completed answers and `max` calls at work. */
export function boundedMemoryCases({ expect, it }: Cases, max: number): void {
  const complete = async (s: Scene, key: string) => {
    await s.ended(s.call(`token of ${key}`, { key, payment: key }), 'complete')
  }
  const fill = async (s: Scene, count: number) => {
    for (let at = 0; at < count; at++) {
      const key = `filler-${at}`
      expect(await s.open(s.call(key, { key, payment: key }))).toEqual({ verdict: 'opened' })
    }
  }

  it('full of calls at work is refused, with a key and without', async s => {
    await fill(s, max)
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'full' })
    expect(await s.open(s.call('keyless', { key: null }))).toEqual({ verdict: 'full' })
  })

  it('a full store still answers for the claims it has', async s => {
    await fill(s, max)
    const known = { key: 'filler-0', payment: 'filler-0' }
    expect((await s.open(s.call('other', known))).verdict).toBe('inProgress')
    await s.advance(s.leaseMs)
    expect(await s.open(s.call('other', known))).toEqual({ verdict: 'opened' })
  })

  it('calls at work push no completed answer out, however many they are', async s => {
    await complete(s, 'paid')
    await fill(s, max)
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'full' })
    expect((await s.open(s.call('reader', { key: 'paid' }))).verdict).toBe('replayable')
  })

  it('what settles is never pushed out, and takes no room from calls at work', async s => {
    for (let at = 0; at < 2 * max; at++)
      await s.recorded(s.call('token', { key: `key-${at}`, payment: `p-${at}` }))
    await s.advance(2 * s.leaseMs)
    for (let at = 0; at < 2 * max; at++)
      expect((await s.open(s.call('successor', { key: `key-${at}`, payment: null }))).verdict).toBe(
        'orphaned',
      )
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'opened' })
  })

  it('the oldest completed answer makes room for a new one; its key stays, and its payment stays spent', async s => {
    for (let at = 0; at <= max; at++) await complete(s, `key-${at}`)
    expect(await s.open(s.call('again', { key: 'key-0', payment: 'another' }))).toEqual({
      verdict: 'notKept',
      txId: s.txId('key-0'),
    })
    expect(await s.open(s.call('again', { key: null, payment: 'key-0' }))).toEqual({ verdict: 'spent' })
    for (let at = 1; at <= max; at++)
      expect((await s.open(s.call('reader', { key: `key-${at}` }))).verdict).toBe('replayable')
  })

  it('the owner that has the most answers makes room, not the one that has one', async s => {
    const lone = { ...s, call: (token: string, over = {}) => ({ ...s.call(token, over), slot: 'lone' }) }
    await complete(lone as Scene, 'lone')
    for (let at = 0; at <= max; at++) await complete(s, `key-${at}`)
    expect((await lone.store.open({ ...lone.call('r', { key: 'lone' }), leaseMs: 1 })).verdict).toBe(
      'replayable',
    )
    expect((await s.open(s.call('r', { key: 'key-0' }))).verdict).toBe('notKept')
  })

  it('answers of calls that a window covered push out none that was paid for', async s => {
    await complete(s, 'paid')
    for (let at = 0; at <= max; at++) {
      const covered = await s.opened(s.call(`token-${at}`, { key: `covered-${at}`, payment: null }))
      await s.close(covered, 'complete', 'served')
    }
    expect((await s.open(s.call('reader', { key: 'paid' }))).verdict).toBe('replayable')
    expect((await s.open(s.call('reader', { key: 'covered-0', payment: null }))).verdict).toBe('notKept')
  })

  it('released claims leave room', async s => {
    await fill(s, max)
    await s.close(s.call('filler-0', { key: 'filler-0', payment: 'filler-0' }), 'release')
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'opened' })
  })
}
