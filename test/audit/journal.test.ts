/** The journal: whole lines, on the disk, through rotation, a full disk, a killed process; and never in an answer's way. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type JournalOptions, journal } from '../../src/adapters/journal/journal.js'
import { journalFiles } from '../../src/adapters/journal/journal-file.js'
import {
  type JournalPiece,
  pieceOf,
  readJournal,
  readPieces,
} from '../../src/adapters/journal/read-journal.js'
import { defineEndpoint } from '../../src/index.js'
import { silentLogger } from '../../src/ports/logger.js'
import { openSeller, pay } from '../support/seller.js'
import { BOOKS, callOf, callOn, settledPath } from './calls.js'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-journal-'))
  path = join(folder, 'runs.jsonl')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const opened = (other: Partial<JournalOptions> = {}) =>
  journal({ path, bytesMax: 1_000_000, books: BOOKS, logger: silentLogger, ...other })

async function read(pieces: AsyncIterable<JournalPiece> = readJournal(path)) {
  const all = { books: 0, ids: [] as string[], lost: 0, unreadable: 0 }
  for await (const { books, runs, lost, unreadable } of pieces) {
    all.books += books.length
    all.ids.push(...runs.map(({ id }) => id))
    all.lost += lost
    all.unreadable += unreadable
  }
  return all
}

const idsOf = (count: number) => Array.from({ length: count }, (_, number) => `call-${number}`)

describe('a journal', () => {
  it('keeps every call in order, headed by whose it is, for its owner’s eyes', async () => {
    const writing = opened()
    for (let number = 0; number < 300; number++) writing.ended(callOf(number))
    await writing.close()
    expect(await read()).toEqual({ books: 1, ids: idsOf(300), lost: 0, unreadable: 0 })
    expect((await readFile(path, 'utf8')).split('\n')[0]).toBe(JSON.stringify(BOOKS))
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('writes without being closed, together, and not in the call’s way', async () => {
    const writing = opened()
    for (let number = 0; number < 100; number++) writing.ended(callOf(number))
    expect(await readdir(folder)).toEqual([])
    await vi.waitFor(async () => expect((await read()).ids).toHaveLength(100))
    await writing.close()
  })

  it('is set aside under rising numbers, whole lines each, nothing lost, read as one', async () => {
    const writing = opened({ bytesMax: 4_000 })
    for (let number = 0; number < 60; number++) {
      writing.ended(callOf(number))
      await vi.waitFor(async () => expect((await read()).ids).toHaveLength(number + 1), { interval: 5 })
    }
    await writing.close()
    const files = await journalFiles(path)
    expect(files.length).toBeGreaterThan(5)
    expect(files[0]).toBe(join(folder, 'runs.000001.jsonl'))
    for (const file of files) expect((await stat(file)).size).toBeLessThan(5_000)
    expect(await read()).toEqual({ books: files.length, ids: idsOf(60), lost: 0, unreadable: 0 })
  })

  it('goes on after half a line that a killed process left', async () => {
    const before = opened()
    before.ended(callOf(0))
    await before.close()
    await appendFile(path, '{"id":"half of a li')
    const after = opened()
    after.ended(callOf(1))
    await after.close()
    expect(await read()).toEqual({ books: 2, ids: idsOf(2), lost: 0, unreadable: 1 })
  })

  it('waits for a disk that cannot be written, and says so in the log', async () => {
    const error = vi.fn()
    await mkdir(path)
    const writing = opened({ logger: { ...silentLogger, error } })
    writing.ended(callOf(0))
    await vi.waitFor(() => expect(error).toHaveBeenCalled())
    expect(error.mock.calls[0]).toMatchObject([{ calls: 1 }, 'the journal could not be written'])
    writing.ended(callOf(1))
    await rm(path, { recursive: true })
    await writing.close()
    expect(await read()).toMatchObject({ ids: idsOf(2) })
  })

  it('counts what it could not keep, and writes the number', async () => {
    await mkdir(path)
    const writing = opened()
    const large = { ...callOf(0), mismatch: 'x'.repeat(1024 * 1024) }
    for (let number = 0; number < 70; number++) writing.ended(large)
    await rm(path, { recursive: true })
    await writing.close()
    const { ids, lost } = await read()
    expect(ids.length + lost).toBe(70)
    expect(lost).toBeGreaterThan(0)
  })

  it('has on the disk what was written before the process was killed', async () => {
    const script = `
      const { journal } = await import(process.argv[1])
      const writing = journal({ path: ${JSON.stringify(path)}, bytesMax: 1e6, books: ${JSON.stringify(BOOKS)}, logger: console })
      let number = 0
      setInterval(() => { for (let at = 0; at < 50; at++) writing.ended({ ...${JSON.stringify(callOf(0))}, id: 'call-' + number++ }) }, 1)
    `
    const module = new URL('../../dist/src/adapters/journal/journal.js', import.meta.url).href
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, module], { stdio: 'inherit' })
    await vi.waitFor(async () => expect((await read()).ids.length).toBeGreaterThan(100), { timeout: 10_000 })
    child.kill('SIGKILL')
    await once(child, 'exit')
    const { ids, unreadable } = await read()
    expect(ids).toEqual(idsOf(ids.length))
    expect(unreadable).toBeLessThanOrEqual(1)
  })
})

describe('reading', () => {
  const text = [callOf(1), callOf(2), callOn(settledPath, 'settled', 3)]
    .map(call => `${JSON.stringify(call)}\n`)
    .join('')

  it.each([1, 7, 100, 100_000])('does not mind chunks of %i bytes', async size => {
    const bytes = Buffer.from(text)
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    expect((await read(readPieces(chunks()))).ids).toEqual(['call-1', 'call-2', 'call-3'])
  })

  it.each([
    'null',
    '[]',
    '{',
    '{"id":1}',
    '{"journal":1}',
    JSON.stringify({ ...callOf(0), amount: '1e3' }),
    JSON.stringify({ ...callOf(0), path: 'received.admitted' }),
    JSON.stringify({ ...callOf(0), startedMs: null }),
  ])('takes %s for no run', line => {
    expect(pieceOf(`${line}\n`)).toEqual({ books: [], runs: [], lost: 0, unreadable: 1 })
  })
})

describe('serve({ journal })', () => {
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ secret: 'the answer' }) })

  it('keeps each ended call until the server has stopped, and no body', async () => {
    const seller = await openSeller([work], { journal: path })
    expect((await pay(seller, `${seller.url}/work`, { body: { secret: 'the question' } })).status).toBe(200)
    await seller.close()
    const { runs } = pieceOf(await readFile(path, 'utf8'))
    expect(runs.map(({ id }) => id)).toEqual(seller.ended.map(({ id }) => id))
    expect(runs.at(-1)).toMatchObject({
      final: 'settled',
      amount: '10000',
      payer: seller.ended.at(-1)!.payer,
    })
    expect(await readFile(path, 'utf8')).not.toContain('the question')
    expect(await readFile(path, 'utf8')).not.toContain('the answer')
  })

  it.each([{ path: '' }, { path: 'runs.jsonl', maxBytes: 0 }, ''])('refuses %j at start', async wrong => {
    await expect(openSeller([work], { journal: wrong })).rejects.toMatchObject({ code: 'invalid_options' })
  })
})
