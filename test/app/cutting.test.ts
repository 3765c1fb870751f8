/** Waiting for work until the server stops: the work's own end, or the answer of a server that waits no longer. */
import { describe, expect, it } from 'vitest'
import { untilShutdown } from '../../src/app/charge/effects/settle.js'
import { oneCall } from '../support/one-call.js'

describe('work that is waited for until the server stops', () => {
  it('has its own result, and leaves nobody listening', async () => {
    const { world, listeners } = oneCall()
    expect(await untilShutdown(world.stop, Promise.resolve('done'), 'cut')).toBe('done')
    await expect(untilShutdown(world.stop, Promise.reject(new Error('broken')), 'cut')).rejects.toThrow(
      'broken',
    )
    await new Promise(setImmediate)
    expect(listeners()).toBe(0)
  })

  it('is cut where the server stops, or has stopped', async () => {
    const { world, cut } = oneCall()
    const waiting = untilShutdown(world.stop, new Promise(() => {}), 'cut')
    cut()
    expect(await waiting).toBe('cut')
    expect(await untilShutdown(world.stop, Promise.resolve('done'), 'cut')).toBe('cut')
  })
})
