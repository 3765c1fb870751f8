/** What watching costs and what it can harm: nothing of one viewer's slowness reaches another, or any call. */
import { describe, expect, it, vi } from 'vitest'
import { createTally } from '../../src/adapters/audit-page/move-counts.js'
import type { AuditEvents } from '../../src/adapters/audit-page/page-events.js'
import { callOf, callOn, PAYER, STEPS, settledPath } from './calls.js'
import { feedOf } from './watched.js'

function viewer(mayWriteMore: () => boolean = () => true) {
  const events: { name: keyof AuditEvents; data: unknown }[] = []
  const ended = vi.fn()
  return {
    ended,
    write(text: string) {
      const event = /^event: (\w+)\ndata: (.*)\n\n$/.exec(text)
      if (event) events.push({ name: event[1] as keyof AuditEvents, data: JSON.parse(event[2]!) })
      return mayWriteMore()
    },
    end: ended,
    told: <E extends keyof AuditEvents>(name: E) =>
      events.filter(event => event.name === name).map(event => event.data as AuditEvents[E]),
    ids: () =>
      events
        .filter(({ name }) => name === 'runs')
        .flatMap(({ data }) => (data as { id: string }[]).map(({ id }) => id)),
  }
}

describe('the feed', () => {
  it('tells a viewer what has been, then what comes, each once and in order', () => {
    vi.useFakeTimers()
    const feed = feedOf()
    for (let number = 0; number < 1_200; number++) feed.ended(callOf(number))
    const watching = viewer()
    feed.join(watching)
    for (let number = 1_200; number < 1_300; number++) feed.ended(callOf(number))
    vi.advanceTimersByTime(250)
    expect(watching.told('hello')).toHaveLength(1)
    expect(watching.ids()).toEqual(Array.from({ length: 1_300 }, (_, number) => `call-${number}`))
    expect(watching.told('totals').at(-1)).toMatchObject({ calls: 1_300 })
    vi.useRealTimers()
    feed.close()
    expect(watching.ended).toHaveBeenCalledOnce()
  })

  it('waits for a viewer that reads slowly, and then skips what is forgotten meanwhile', () => {
    const feed = feedOf({ capacity: 10 })
    let reads = false
    const slow = viewer(() => reads)
    const seat = feed.join(slow)!
    for (let number = 0; number < 25; number++) feed.ended(callOf(number))
    expect(slow.ids()).toEqual([])
    reads = true
    seat.drained()
    expect(slow.ids()).toEqual(Array.from({ length: 10 }, (_, at) => `call-${15 + at}`))
    feed.close()
  })

  it('seats a bounded number, and a place is free again when one leaves', () => {
    const feed = feedOf()
    const seats = Array.from({ length: 16 }, () => feed.join(viewer()))
    expect(seats).not.toContain(undefined)
    expect(feed.join(viewer())).toBeUndefined()
    seats[0]!.leave()
    expect(feed.join(viewer())).toBeDefined()
    feed.close()
    expect(feed.join(viewer())).toBeUndefined()
  })

  it('keeps a silent connection alive, and no process', () => {
    vi.useFakeTimers()
    const feed = feedOf()
    const write = vi.fn(() => true)
    feed.join({ write, end() {} })
    vi.advanceTimersByTime(20_000)
    expect(write).toHaveBeenCalledWith(': still here\n\n')
    vi.useRealTimers()
    feed.close()
  })

  it('never tells who paid', () => {
    const feed = feedOf()
    feed.ended(callOn(settledPath, 'settled'))
    const watching = viewer()
    feed.join(watching)
    expect(JSON.stringify([watching.told('runs'), ...feed.lines()])).not.toContain(PAYER)
    feed.close()
  })
})

describe('the tally', () => {
  it('counts every move and takes the median of the last ones', () => {
    const tally = createTally(STEPS.length)
    const seen = new Uint32Array(STEPS.length)
    for (const ms of [1, 100, 3]) tally.add([0, 1], [ms, ms * 2])
    expect(tally.changedSince(seen)).toEqual([
      [0, 3, 3],
      [1, 3, 6],
    ])
    expect(tally.changedSince(seen)).toEqual([])
    tally.add([1], [6])
    expect(tally.changedSince(seen)).toEqual([[1, 4, 6]])
    for (let times = 0; times < 128; times++) tally.add([0], [9])
    expect(tally.changedSince(seen)).toEqual([[0, 131, 9]])
  })
})
