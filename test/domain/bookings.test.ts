/** One payment is one booking, whichever runs report it. */
import { describe, expect, it } from 'vitest'
import { type BookableRun, recentBookings, reportsCharge } from '../../src/domain/income-bookings.js'

const settled: BookableRun = { charged: 'yes', path: ['settling.settled'], txId: 'A' }
const found: BookableRun = { charged: 'earlier', path: ['opening.orphaned', 'recovering.found'], txId: 'A' }
const notKept: BookableRun = { ...found, path: ['opening.orphaned', 'recovering.notKept'] }
const replayed: BookableRun = { ...found, path: ['opening.replayable'] }
const doubtful: BookableRun = { charged: 'maybe', path: ['reconciling.unknown'], txId: 'A' }

describe('a charge', () => {
  it('is reported by the run that settles it, and by one that learns of it', () => {
    expect([settled, found, notKept].map(reportsCharge)).toEqual([true, true, true])
  })

  it('is not reported by a later replay, a run in doubt, or one without a path', () => {
    expect([replayed, doubtful, { ...found, path: [] }].map(reportsCharge)).toEqual([false, false, false])
  })
})

describe('recent bookings', () => {
  it.each([
    ['settled, then found', [settled, found, replayed, settled]],
    ['found, then settled', [doubtful, found, settled, notKept]],
  ])('book a payment once: %s', (_, runs) => {
    const books = recentBookings()
    expect(runs.filter(run => books(run))).toEqual([runs.find(reportsCharge)])
  })

  it('book each payment that cannot be read: there is nothing to compare by', () => {
    const books = recentBookings()
    const unread = { ...settled, txId: undefined }
    expect([unread, unread].map(run => books(run))).toEqual([true, true])
  })

  it('remember the latest ones, and no more than twice as many', () => {
    const books = recentBookings(10)
    const of = (number: number) => books({ ...settled, txId: String(number) })
    for (let number = 0; number < 25; number++) expect(of(number)).toBe(true)
    for (let number = 15; number < 25; number++) expect(of(number)).toBe(false)
    expect(of(0)).toBe(true)
  })
})
