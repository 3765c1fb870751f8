import type { TestRunner } from '../runner.js'
import { type MakeChargeStore, type Scene, scene } from './scene.js'

/** For stores that bound their claims by number: `max` of them, all in the store that `make` makes. */
export function bounded({ expect, it }: TestRunner, make: MakeChargeStore, max: number): void {
  const complete = async (s: Scene, key: string) => {
    const call = s.call(`token of ${key}`, { key, payment: key })
    await s.open(call)
    await s.record(call)
    await s.close(call, 'complete')
  }
  const fill = async (s: Scene, count: number) => {
    for (let at = 0; at < count; at++) {
      const key = `filler-${at}`
      expect(await s.open(s.call(key, { key, payment: key }))).toEqual({ verdict: 'opened' })
    }
  }

  it('full of unfinished claims is refused, and the refused payment is not taken', async () => {
    const s = await scene(make)
    await fill(s, max)
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'full' })
    expect(await s.open(s.call('keyless', { key: null }))).toEqual({ verdict: 'opened' })
  })

  it('a full store still answers for the claims it has', async () => {
    const s = await scene(make)
    await fill(s, max)
    const known = { key: 'filler-0', payment: 'filler-0' }
    expect((await s.open(s.call('other', known))).verdict).toBe('inProgress')
    await s.advance(s.leaseMs)
    expect(await s.open(s.call('other', known))).toEqual({ verdict: 'opened' })
  })

  it('a settling claim never makes room, whatever its lease', async () => {
    const s = await scene(make)
    for (let at = 0; at < max; at++) {
      const call = s.call('token', { key: `key-${at}`, payment: `p-${at}` })
      await s.open(call)
      await s.record(call)
    }
    await s.advance(2 * s.leaseMs)
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'full' })
  })

  it('the least recently replayed completed claim makes room, and its payment stays spent', async () => {
    const s = await scene(make)
    await complete(s, 'first')
    await complete(s, 'second')
    await fill(s, max - 2)
    expect((await s.open(s.call('reader', { key: 'first' }))).verdict).toBe('replayable')
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'opened' })
    expect((await s.open(s.call('reader', { key: 'first' }))).verdict).toBe('replayable')
    expect(await s.open(s.call('again', { key: 'second', payment: 'second' }))).toEqual({ verdict: 'spent' })
  })

  it('released claims leave room', async () => {
    const s = await scene(make)
    await fill(s, max)
    await s.close(s.call('filler-0', { key: 'filler-0', payment: 'filler-0' }), 'release')
    expect(await s.open(s.call('late', { key: 'late' }))).toEqual({ verdict: 'opened' })
  })
}
