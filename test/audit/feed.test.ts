/** What watching costs and what it can harm: nothing of one viewer's slowness reaches another, or any call. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { pieceOf, readLatest } from '../../src/audit/journal/journal-reader.js'
import { headerLine, numberedLine, runText } from '../../src/audit/journal/line-format.js'
import type { AuditEvents } from '../../src/audit/page/page-events.js'
import { systemClock } from '../../src/ports/clock.js'
import { eventually } from '../support/eventually.js'
import { callOf, callOn, HEADER, PAYER, pathTo, recoveredPath, STARTED_MS, settledPath } from './calls.js'
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

  it('begins with the charges that the journal has from before, and reads them for the first viewer alone', async () => {
    const sinceMs = STARTED_MS + 100_000
    const doubt = { ...callOn(pathTo('inDoubt', []), 'inDoubt', 3), txId: 'DOUBT' }
    const before = [
      callOn(settledPath, 'settled', 1),
      // Written by a version of which this one knows nothing.
      { ...callOn(settledPath, 'settled', 2), final: 'vanished' },
      doubt,
      { ...callOn(recoveredPath, 'replayed', 4), txId: 'DOUBT' },
      { ...callOn(settledPath, 'settled', 5), units: { balance: 'b', sold: 5_000 }, amount: '5000' },
      // Of this process: it is told as it ends.
      { ...callOn(settledPath, 'settled', 6), startedMs: sinceMs },
    ]
    const history = vi.fn(async function* () {
      yield pieceOf(
        before.map(call => `${JSON.stringify(call)}\n`).join('') +
          '{"stream":"call-1","brokenBy":"seller"}\n',
      )
    })
    const feed = feedOf({ history, clock: { ...systemClock, now: () => sinceMs } })
    feed.ended({ ...callOn(settledPath, 'settled', 1), id: 'again', startedMs: sinceMs })
    const first = viewer()
    feed.join(first)
    await eventually(() => expect(first.told('totals')).toHaveLength(1))
    const told = first.told('runs').flat()
    expect(
      told.map(({ id, number, isBooked, landed, brokenBy }) => [id, number, isBooked, landed, brokenBy]),
    ).toEqual([
      ['call-1', -4, undefined, undefined, 'seller'],
      ['call-3', -3, undefined, true, undefined],
      ['call-4', -2, true, undefined, undefined],
      ['call-5', -1, true, undefined, undefined],
      ['again', 0, true, undefined, undefined],
    ])
    expect(first.told('totals')[0]).toMatchObject({
      calls: 1,
      balances: { count: 1, sums: { unspent: '5000' } },
    })
    const second = viewer()
    feed.join(second)
    await eventually(() => expect(second.told('totals')).toHaveLength(1))
    expect(second.ids()).toEqual(first.ids())
    expect(history).toHaveBeenCalledOnce()
    // For others, a journal is what a journal is for.
    expect([...feed.lines()].slice(1).map(line => JSON.parse(line).id)).toEqual(['again'])
    feed.close()
  })

  it('shows the latest of a long journal, and sums the balances of all of it, a little at once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-journal-'))
    const path = join(folder, 'runs.jsonl')
    const sold = { units: { balance: 'b', sold: 5_000 }, amount: '5000' }
    const lines = Array.from({ length: 1_000 }, (_, at) =>
      numberedLine(at + 1, runText({ ...callOn(settledPath, 'settled', at), ...(at % 500 === 7 && sold) })),
    )
    writeFileSync(path, headerLine(HEADER, 1, 0) + lines.join(''))
    // The last lines are in the last of several reads.
    const latest = vi.fn(() => readLatest(path, '"units":', 2_000))
    const feed = feedOf({ history: latest, clock: { ...systemClock, now: () => STARTED_MS + 1e9 } })
    const watching = viewer()
    feed.join(watching)
    await eventually(() => expect(watching.told('totals')).toHaveLength(1))
    const ids = watching.ids()
    expect(ids.length).toBeLessThan(500)
    expect(ids).toEqual(Array.from(ids, (_, at) => `call-${1_000 - ids.length + at}`))
    expect(watching.told('totals')[0]).toMatchObject({ balances: { sums: { sold: '10000' } } })
    feed.close()
    rmSync(folder, { recursive: true })
  })

  it('has the calls of this process where the journal cannot be read', async () => {
    const warn = vi.fn()
    const feed = feedOf({ logger: { warn }, history: () => readLatest('/none/there.jsonl', 'units') })
    feed.ended(callOf(1))
    const watching = viewer()
    feed.join(watching)
    await eventually(() => expect(watching.ids()).toEqual(['call-1']))
    expect(warn).toHaveBeenCalledOnce()
    feed.close()
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
    const told = slow.ids()
    expect(told.length).toBeLessThanOrEqual(11)
    expect(told).toEqual(Array.from({ length: 25 }, (_, at) => `call-${at}`).filter(id => told.includes(id)))
    expect(told.at(-1)).toBe('call-24')
    feed.close()
  })

  it('begins anew with a viewer that was too slow for calls that are forgotten: its calls would have a gap', () => {
    const feed = feedOf({ capacity: 10 })
    feed.ended(callOf(0))
    // It takes one event at a time.
    const slow = viewer(() => false)
    const seat = feed.join(slow)!
    seat.drained()
    expect(slow.ids()).toEqual(['call-0'])
    for (let number = 1; number < 25; number++) feed.ended(callOf(number))
    for (let event = 0; event < 4; event++) seat.drained()
    expect(slow.told('hello')).toHaveLength(2)
    expect(slow.ids().at(-1)).toBe('call-24')
    expect(slow.told('totals')).toHaveLength(1)
    feed.close()
  })

  it('keeps paid calls where quotes without end follow them', () => {
    const feed = feedOf({ capacity: 100 })
    for (let number = 0; number < 50; number++) feed.ended(callOn(settledPath, 'settled', number))
    const quote = pathTo('quoted', [])
    for (let number = 50; number < 1_000; number++) feed.ended(callOn(quote, 'quoted', number))
    const watching = viewer()
    feed.join(watching)
    const told = watching.told('runs').flat()
    expect(told.filter(({ final }) => final === 'settled')).toHaveLength(50)
    expect(told.length).toBeLessThanOrEqual(110)
    expect(told.at(-1)!.id).toBe('call-999')
    feed.close()
  })

  it('tells when the chain has decided a payment in doubt, or another call has booked it', () => {
    vi.useFakeTimers()
    const feed = feedOf()
    const doubtful = (number: number, txId: string) => ({
      ...callOn(pathTo('inDoubt', []), 'inDoubt', number),
      txId,
    })
    const watching = viewer()
    feed.join(watching)
    for (const [number, txId] of ['LANDED', 'DEAD', 'BOOKED', 'OPEN'].entries())
      feed.ended(doubtful(number, txId))
    vi.advanceTimersByTime(250)
    expect(watching.told('totals').at(-1)).toMatchObject({ inDoubt: 4 })
    feed.decided!('LANDED', true)
    feed.decided!('DEAD', false)
    feed.decided!('UNKNOWN', true)
    // Not told yet: it comes with its decision.
    feed.ended(doubtful(4, 'LATE'))
    feed.decided!('LATE', true)
    feed.ended({ ...callOn(recoveredPath, 'replayed', 5), txId: 'BOOKED' })
    vi.advanceTimersByTime(250)
    expect(watching.told('decided')).toEqual([
      [
        { number: 0, landed: true },
        { number: 1, landed: false },
        { number: 2, landed: true },
      ],
    ])
    expect(watching.told('totals').at(-1)).toMatchObject({ inDoubt: 1, calls: 6 })
    const late = viewer()
    feed.join(late)
    expect(
      late
        .told('runs')
        .flat()
        .map(({ landed }) => landed),
    ).toEqual([true, false, true, undefined, true, undefined])
    expect(late.told('decided')).toEqual([])
    vi.useRealTimers()
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

  it('keeps the errors of the latest calls alone, and what their handlers logged: both are large', () => {
    const feed = feedOf()
    const logs = [{ atMs: 1, message: 'read' }]
    for (let number = 0; number < 600; number++)
      feed.ended({
        ...callOn(settledPath, 'settled', number),
        ...(number % 2 ? { logs } : { error: 'broken' }),
      })
    const watching = viewer()
    feed.join(watching)
    const told = watching.told('runs').flat()
    expect(told.filter(({ error, logs }) => error ?? logs).map(({ id }) => id)).toEqual(
      told.slice(100).map(({ id }) => id),
    )
    feed.close()
  })

  it('names who paid once, where the chain names them too; the lines of a journal name nobody, and say nothing of a handler', () => {
    const feed = feedOf()
    feed.ended(callOn(pathTo('unsettled', []), 'unsettled', 1))
    feed.ended({
      ...callOn(settledPath, 'settled', 2),
      error: 'private',
      logs: [{ atMs: 1, message: 'private' }],
    })
    feed.ended(callOn(settledPath, 'settled', 2))
    const watching = viewer()
    feed.join(watching)
    const told = watching.told('runs').flat()
    expect(told.map(({ payer, isBooked }) => [payer, isBooked])).toEqual([
      [undefined, undefined],
      [PAYER, true],
      [undefined, undefined],
    ])
    expect([...feed.lines()].join('')).not.toMatch(new RegExp(`${PAYER}|private|isBooked`))
    feed.close()
  })
})
