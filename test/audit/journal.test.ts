/** The journal: whole lines, on the disk, through rotation, a full disk, a killed process; and never in an answer's way. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, lstatSync, symlinkSync } from 'node:fs'
import {
  appendFile,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { olderFiles } from '../../src/audit/journal/append-to-files.js'
import { type JournalPiece, pieceOf, readPieces } from '../../src/audit/journal/journal-reader.js'
import { type JournalOptions, journal } from '../../src/audit/journal/journal-writer.js'
import { numberedLine, readLine } from '../../src/audit/journal/line-format.js'
import { defineEndpoint } from '../../src/index.js'
import { silentLogger } from '../../src/ports/logger.js'
import { eventually } from '../support/eventually.js'
import { readJournals } from '../support/journals.js'
import { openSeller, pay } from '../support/seller.js'
import { callOn, HEADER, settledPath } from './calls.js'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-journal-'))
  path = join(folder, 'runs.jsonl')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const opened = (other: Partial<JournalOptions> = {}) =>
  journal({ path, bytesMax: 1_000_000, header: HEADER, logger: silentLogger, ...other })

async function read(pieces: AsyncIterable<JournalPiece> = readJournals([path])) {
  const all = { headers: 0, ids: [] as string[], lost: 0, unreadable: 0, flaws: [] as string[] }
  for await (const { headers, runs, lost, unreadable, flaws } of pieces) {
    all.flaws.push(...flaws.map(({ says }) => says))
    all.headers += headers.length
    all.ids.push(...runs.map(({ id }) => id))
    all.lost += lost
    all.unreadable += unreadable
  }
  return all
}

/** A call that has a line of its own: it charged. */
const callOf = (number: number) => callOn(settledPath, 'settled', number)
const WHOLE = { lost: 0, unreadable: 0, flaws: [] }
const idsOf = (count: number) => Array.from({ length: count }, (_, number) => `call-${number}`)

describe('a journal', () => {
  it('that was closed writes nothing more: the file may be another process’s by now', async () => {
    const logged = vi.fn()
    const closed = opened({ logger: { ...silentLogger, error: logged } })
    closed.ended(callOf(0))
    await closed.close()
    closed.ended(callOf(1))
    expect(closed.condition()).toMatchObject({ waiting: 0, lost: 1 })
    expect(logged).toHaveBeenCalledOnce()
    expect((await read()).ids).toEqual(idsOf(1))
    const next = opened()
    await next.close()
  })

  it('keeps every call in order, headed by whose it is, for its owner’s eyes', async () => {
    const writing = opened()
    for (let number = 0; number < 300; number++) writing.ended(callOf(number))
    await writing.close()
    expect(await read()).toEqual({ ...WHOLE, headers: 1, ids: idsOf(300) })
    expect(JSON.parse((await readFile(path, 'utf8')).split('\n')[0]!)).toMatchObject({ ...HEADER, next: 1 })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('writes without being closed, together, and not in the call’s way', async () => {
    const writing = opened()
    for (let number = 0; number < 100; number++) writing.ended(callOf(number))
    expect((await read()).ids).toEqual([])
    await eventually(async () => expect((await read()).ids).toHaveLength(100))
    await writing.close()
  })

  it('is set aside under rising numbers, whole lines each, nothing lost, read as one', async () => {
    const writing = opened({ bytesMax: 48_000 })
    for (let number = 0; number < 60; number++) {
      writing.ended(callOf(number))
      const isWritten = async () => expect((await read()).ids).toHaveLength(number + 1)
      await eventually(isWritten)
    }
    await writing.close()
    const files = [...olderFiles(path), path]
    expect(files.length).toBeGreaterThan(5)
    expect(files[0]).toBe(join(folder, 'runs.000001.jsonl'))
    for (const file of files) expect((await stat(file)).size).toBeLessThan(6_000)
    expect(await read()).toEqual({ ...WHOLE, headers: files.length, ids: idsOf(60) })
  })

  it.each<[string, () => Promise<unknown>]>([
    ['moved', () => rename(path, `${path}.1`)],
    ['moved and made anew', () => rename(path, `${path}.1`).then(() => writeFile(path, ''))],
    ['copied and cut', () => copyFile(path, `${path}.1`).then(() => truncate(path))],
  ])(
    'goes on in a file of its name where another program, such as logrotate, has %s it',
    async (_, rotate) => {
      const writing = opened()
      writing.ended(callOf(0))
      await eventually(async () => expect((await read()).ids).toEqual(['call-0']))
      await rotate()
      writing.ended(callOf(1))
      await writing.close()
      expect(await read()).toEqual({ ...WHOLE, headers: 1, ids: ['call-1'] })
      const both = await read(readJournals([`${path}.1`, path]))
      expect(both).toEqual({ ...WHOLE, headers: 2, ids: idsOf(2) })
    },
  )

  it('goes on after half a line that a killed process left', async () => {
    const before = opened()
    before.ended(callOf(0))
    await before.close()
    await appendFile(path, '{"id":"half of a li')
    const after = opened()
    after.ended(callOf(1))
    await after.close()
    expect(await read()).toEqual({ ...WHOLE, headers: 2, ids: idsOf(2), unreadable: 1 })
  })

  it('goes on after a whole line whose newline a killed process did not write', async () => {
    const before = opened()
    before.ended(callOf(0))
    before.ended(callOf(1))
    await before.close()
    await truncate(path, (await stat(path)).size - 1)
    const after = opened()
    after.ended(callOf(2))
    await after.close()
    expect(await read()).toEqual({ ...WHOLE, headers: 2, ids: idsOf(3) })
  })

  it.each(['{"id":"half\n{"journal":1,"ag', '\n\n', '# checked on Monday\n', '\0\0\n\0\0'])(
    'goes on with its numbers after lines that cannot be read: %j',
    async left => {
      const before = opened()
      before.ended(callOf(0))
      await before.close()
      await appendFile(path, left)
      const after = opened()
      after.ended(callOf(1))
      await after.close()
      expect(await read()).toMatchObject({ ids: idsOf(2), flaws: [] })
    },
  )

  it('waits for a disk that cannot be written, and says so in the log', async () => {
    const error = vi.fn()
    const writing = opened({ logger: { ...silentLogger, error } })
    const back = await withoutDisk()
    writing.ended(callOf(0))
    await eventually(() => expect(error).toHaveBeenCalled())
    expect(error.mock.calls[0]).toMatchObject([{ calls: 1 }, 'the journal could not be written'])
    writing.ended(callOf(1))
    expect(writing.condition()).toEqual({ writable: false, waiting: 2, lost: 0 })
    await back()
    await writing.close()
    expect(writing.condition()).toEqual({ writable: true, waiting: 0, lost: 0 })
    expect(await read()).toEqual({ ...WHOLE, headers: 1, ids: idsOf(2) })
  })

  it('begins a file anew where the disk was full as the last one was set aside', async () => {
    let isFull = false
    const full = () => {
      if (!isFull) symlinkSync('/dev/full', path)
      isFull = true
    }
    const error = vi.fn()
    const writing = opened({ bytesMax: 12_000, logger: { ...silentLogger, warn: full, error } })
    let count = 0
    for (; !isFull; count++) {
      writing.ended({ ...callOf(count), mismatch: 'x'.repeat(5_000) })
      const isWritten = () => expect(writing.condition().waiting === 0 || isFull).toBe(true)
      await eventually(isWritten)
    }
    await eventually(() => expect(error).toHaveBeenCalled())
    await rm(path)
    await writeFile(path, '{"journal":1,"agent":"half a he')
    writing.ended(callOf(count++))
    await writing.close()
    const { ids, headers, ...flaws } = await read()
    expect(flaws).toEqual({ ...WHOLE, unreadable: 1 })
    expect(ids).toEqual(idsOf(count).slice(-ids.length))
    expect(headers).toBe([...olderFiles(path), path].length)
  })

  it('counts what it could not keep, and writes the number', async () => {
    const writing = opened()
    const back = await withoutDisk()
    const large = { ...callOf(0), mismatch: 'x'.repeat(1024 * 1024) }
    for (let number = 0; number < 70; number++) writing.ended(large)
    expect(writing.condition().lost).toBeGreaterThan(0)
    await back()
    await writing.close()
    const { ids, lost } = await read()
    expect(ids.length + lost).toBe(70)
    expect(lost).toBe(writing.condition().lost)
  })

  it('has on the disk what was written before the process was killed', async () => {
    const script = `
      const { journal } = await import(process.argv[1])
      const writing = journal({ path: ${JSON.stringify(path)}, bytesMax: 1e9, header: ${JSON.stringify(HEADER)}, logger: console })
      let number = 0
      setInterval(() => { for (let at = 0; at < 50; at++) writing.ended({ ...${JSON.stringify(callOf(0))}, id: 'call-' + number++ }) }, 1)
    `
    const module = new URL('../../dist/src/audit/journal/journal-writer.js', import.meta.url).href
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, module], { stdio: 'inherit' })
    await eventually(async () => expect((await read()).ids.length).toBeGreaterThan(100))
    child.kill('SIGKILL')
    await once(child, 'exit')
    const { ids, unreadable } = await read()
    expect(ids).toEqual(idsOf(ids.length))
    expect(unreadable).toBeLessThanOrEqual(1)
  })

  it('goes on with its numbers over rotation, restarts and lines of any length', async () => {
    for (const [at, length] of [10, 70_000, 10].entries()) {
      const writing = opened({ bytesMax: 160_000 })
      writing.ended({ ...callOf(at), mismatch: 'x'.repeat(length) })
      await writing.close()
    }
    expect(olderFiles(path)).toHaveLength(2)
    expect(await read()).toMatchObject({ ...WHOLE, ids: idsOf(3) })
    const numbers = (await readFile(path, 'utf8')).match(/^\{"n":\d+/gm)
    expect(numbers).toEqual(['{"n":3'])
  })

  it('is whole after a crash between setting a file aside and beginning the next', async () => {
    const before = opened()
    before.ended(callOf(0))
    await before.close()
    await rename(path, join(folder, 'runs.000001.jsonl'))
    expect(await read()).toEqual({ ...WHOLE, headers: 1, ids: idsOf(1) })
    const after = opened()
    after.ended(callOf(1))
    await after.close()
    expect(await read()).toEqual({ ...WHOLE, headers: 2, ids: idsOf(2) })
  })

  it.each([
    ['a folder that is not there', () => join(folder, 'none', 'runs.jsonl')],
    ['a folder', () => folder],
    ['a disk that is full', () => '/dev/full'],
    ['a name of a file that is set aside', () => join(folder, 'runs.202611.jsonl')],
  ])('is refused where it cannot be written: %s', (_, where) => {
    expect(() => opened({ path: where() })).toThrow(expect.objectContaining({ code: 'journal_unwritable' }))
  })
})

/** Takes the file away and puts a folder in its place: the next write fails, until it is put back. */
async function withoutDisk(): Promise<() => Promise<void>> {
  const aside = join(folder, 'aside')
  await rename(path, aside)
  await mkdir(path)
  return async () => {
    await rm(path, { recursive: true })
    await rename(aside, path)
  }
}

describe('two writers', () => {
  const module = new URL('../../dist/src/audit/journal/journal-writer.js', import.meta.url).href

  /** Another process that writes a call; it says `ready`, or why it does not. */
  async function writer(id: string): Promise<{ child: ChildProcess; said: string }> {
    const script = `
      const { journal } = await import(process.argv[1])
      const silent = { debug() {}, info() {}, warn() {}, error() {} }
      try {
        const writing = journal({ path: ${JSON.stringify(path)}, bytesMax: 1e6, header: ${JSON.stringify(HEADER)}, logger: silent })
        writing.ended({ ...${JSON.stringify(callOf(0))}, id: ${JSON.stringify(id)} })
        console.log('ready')
        setInterval(() => {}, 1_000)
      } catch (error) {
        console.log(error.code)
      }
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, module], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [said] = await once(child.stdout!, 'data')
    return { child, said: String(said).trim() }
  }

  async function killed(child: ChildProcess): Promise<void> {
    // One that has said all may have ended by itself.
    if (child.exitCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  it('are not: the second is refused, in this process and in another', async () => {
    const first = opened()
    expect(() => opened()).toThrow(expect.objectContaining({ code: 'journal_locked' }))
    expect((await writer('other')).said).toBe('journal_locked')
    first.ended(callOf(0))
    await first.close()
    const next = opened()
    await next.close()
    expect(await read()).toEqual({ ...WHOLE, headers: 2, ids: idsOf(1) })
    expect(await readdir(folder)).toEqual(['runs.jsonl'])
  })

  it('are not, either, where one of them names it by a link; it is rotated and read as one, by each name', async () => {
    const [link, real] = [path, join(folder, 'disk', 'kept.jsonl')]
    await mkdir(join(folder, 'disk'))
    symlinkSync(join('disk', 'kept.jsonl'), link)
    const first = opened({ bytesMax: 12_000 })
    expect(() => opened({ path: real })).toThrow(expect.objectContaining({ code: 'journal_locked' }))
    for (const number of [0, 1, 2]) {
      first.ended({ ...callOf(number), mismatch: 'x'.repeat(2_000) })
      await eventually(() => expect(first.condition().waiting).toBe(0))
    }
    await first.close()
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(olderFiles(real)).not.toEqual([])
    for (const name of [link, real]) expect((await read(readJournals([name]))).ids).toEqual(idsOf(3))
    expect((await read(readJournals([link, real]))).ids).toEqual(idsOf(3))
  })

  it('each have a file of their own from when one file has two names by a hard link', async () => {
    const other = join(folder, 'linked.jsonl')
    const written = async (writing: ReturnType<typeof opened>, name: string, number: number) => {
      writing.ended(callOf(number))
      const isWritten = async () => expect(await readFile(name, 'utf8')).toContain(`"call-${number}"`)
      await eventually(isWritten)
    }
    const first = opened()
    await written(first, path, 0)
    linkSync(path, other)
    const second = opened({ path: other })
    await written(second, other, 1)
    await written(first, path, 2)
    await written(second, other, 3)
    await Promise.all([first.close(), second.close()])
    expect(await read()).toEqual({ ...WHOLE, headers: 2, ids: ['call-0', 'call-2'] })
    expect(await read(readJournals([other]))).toEqual({
      ...WHOLE,
      headers: 2,
      ids: ['call-0', 'call-1', 'call-3'],
    })
    const both = await read(readJournals([path, other]))
    expect({ ...both, ids: both.ids.sort() }).toEqual({ ...WHOLE, headers: 3, ids: idsOf(4) })
    expect(olderFiles(path)).toHaveLength(1)
    const again = opened()
    await again.close()
    expect(olderFiles(path)).toHaveLength(1)
  })

  it('follow each other at once where the first was killed', async () => {
    const { child, said } = await writer('call-0')
    expect(said).toBe('ready')
    await eventually(async () => expect((await read()).ids).toEqual(['call-0']))
    await killed(child)
    const next = opened()
    next.ended(callOf(1))
    await next.close()
    expect(await read()).toEqual({ ...WHOLE, headers: 2, ids: idsOf(2) })
  })

  it('are not where many start at once after a crash', async () => {
    const script = `
      const { journal } = await import(process.argv[1])
      const silent = { debug() {}, info() {}, warn() {}, error() {} }
      process.once('message', path => {
        try {
          journal({ path, bytesMax: 1e6, header: ${JSON.stringify(HEADER)}, logger: silent })
          process.send('ready')
          // It lives until the slowest has asked: a lock of one that has ended is free.
          setInterval(() => {}, 1_000)
        } catch (error) {
          process.send(error.code)
        }
      })
      process.send('up')
    `
    const started = async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, module], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      })
      await once(child, 'message')
      return child
    }
    for (let round = 0; round < 3; round++) {
      const { child } = await writer('call-0')
      const four = await Promise.all(Array.from({ length: 4 }, started))
      await killed(child)
      const said = four.map(other => once(other, 'message'))
      for (const other of four) other.send(path)
      expect(
        (await Promise.all(said))
          .flat()
          .filter(text => typeof text === 'string')
          .sort(),
      ).toEqual(['journal_locked', 'journal_locked', 'journal_locked', 'ready'])
      await Promise.all(four.map(killed))
    }
  })

  it('follow each other after five seconds where the first cannot be seen: another container or host', async () => {
    const lock = join(`${path}.lock`, '1@elsewhere@1@5@any')
    await mkdir(`${path}.lock`)
    await writeFile(lock, '')
    expect(() => opened()).toThrow(expect.objectContaining({ code: 'journal_locked' }))
    const longAgo = new Date(Date.now() - 6_000)
    await utimes(lock, longAgo, longAgo)
    const next = opened()
    await next.close()
    expect(await readdir(folder)).toEqual(['runs.jsonl'])
  })

  it('never cut each other’s lines off: one that stood still finds its lock taken, and writes no more', async () => {
    const error = vi.fn()
    const still = opened({ logger: { ...silentLogger, error } })
    still.ended(callOf(0))
    await eventually(async () => expect((await read()).ids).toEqual(idsOf(1)))
    // As it is after a machine was suspended: nobody touched the lock, and another container took it over.
    await rm(`${path}.lock`, { recursive: true })
    const other = opened()
    still.ended(callOf(1))
    await eventually(() => expect(error).toHaveBeenCalled())
    expect(error.mock.calls[0]).toMatchObject([{ err: { code: 'journal_locked' } }, expect.any(String)])
    other.ended(callOf(2))
    await other.close()
    await eventually(async () => expect((await read()).ids).toEqual(['call-0', 'call-2', 'call-1']))
    await still.close()
    expect(await read()).toMatchObject(WHOLE)
  })

  it('never cut each other’s lines off, also where the first write after such a pause fails', async () => {
    const error = vi.fn()
    const still = opened({ logger: { ...silentLogger, error } })
    await rm(`${path}.lock`, { recursive: true })
    const other = opened()
    other.ended(callOf(0))
    await other.close()
    const back = await withoutDisk()
    still.ended(callOf(1))
    await eventually(() => expect(error).toHaveBeenCalled())
    await back()
    await still.close()
    expect(await read()).toEqual({ ...WHOLE, headers: 3, ids: idsOf(2) })
  })

  it('each with a file of its own are read as one, and a file that is named twice once', async () => {
    const second = join(folder, 'replica.jsonl')
    for (const [at, where] of [path, second].entries()) {
      const writing = opened({ path: where })
      writing.ended(callOf(at))
      await writing.close()
    }
    expect(await read(readJournals([path, second, path]))).toEqual({ ...WHOLE, headers: 2, ids: idsOf(2) })
    await rename(path, join(folder, 'runs.000001.jsonl'))
    await opened().close()
    const expanded = [join(folder, 'runs.000001.jsonl'), path]
    expect(await read(readJournals(expanded))).toEqual({ ...WHOLE, headers: 2, ids: idsOf(1) })
  })

  it('a line that is still being written is no unreadable one, unless its process has ended', async () => {
    const writing = opened()
    await appendFile(path, '{"n":1,"id":"half of a li')
    expect(await read()).toMatchObject(WHOLE)
    await writing.close()
    expect(await read()).toMatchObject({ unreadable: 1 })
  })
})

describe('lines', () => {
  const changes: [string, (lines: string[]) => string[], string[]][] = [
    ['none', lines => lines, []],
    [
      'one that was changed',
      lines => lines.with(2, lines[2]!.replace('"ms":', '"ms":1')),
      ['the line in place 2 does not match its checksum'],
    ],
    [
      'one without its number and checksum',
      lines => lines.with(2, JSON.stringify(callOf(1))),
      ['the line in place 2 does not match its checksum'],
    ],
    ['one that is gone', lines => lines.toSpliced(2, 1), ['line 2 is not there']],
    ['several that are gone', lines => lines.toSpliced(2, 3), ['lines 2 to 4 are not there']],
    ['the first one gone', lines => lines.toSpliced(1, 1), ['line 1 is not there']],
    ['one twice', lines => lines.toSpliced(4, 0, lines[2]!), ['line 2 is there again']],
    [
      'one elsewhere',
      lines => lines.toSpliced(2, 1).toSpliced(5, 0, lines[2]!),
      ['line 2 stands after line 5'],
    ],
    [
      'a changed head',
      lines => lines.with(0, lines[0]!.replace('testnet', 'mainnet')),
      ['the head of the file was changed'],
    ],
    ['the head gone', lines => lines.slice(1), []],
  ]
  it.each(changes)('are held against their numbers and checksums: %s', async (_, change, expected) => {
    const writing = opened()
    for (let number = 0; number < 8; number++) writing.ended(callOf(number))
    await writing.close()
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
    await writeFile(path, `${change(lines).join('\n')}\n`)
    expect((await read()).flaws).toEqual(expected)
  })
})

it.each([{ startedMs: 8.64e15 }, { startedMs: -1 }, { ms: 1e15 }])('a line with %j is unreadable', times => {
  expect(readLine(JSON.stringify({ ...callOf(0), ...times })).kind).toBe('unreadable')
})

it('a line of a later version is unreadable, and keeps its place', async () => {
  const before = opened()
  before.ended(callOf(0))
  await before.close()
  await appendFile(path, numberedLine(2, '{"later":1}'))
  const after = opened()
  after.ended(callOf(1))
  await after.close()
  expect(await read()).toEqual({ ...WHOLE, headers: 2, ids: idsOf(2), unreadable: 1 })
  expect((await readFile(path, 'utf8')).match(/^\{"n":\d+/gm)).toEqual(['{"n":1', '{"n":2', '{"n":3'])
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
    JSON.stringify({ ...callOf(0), startedMs: 0 }).replace('"startedMs":0', '"startedMs":1e999'),
  ])('takes %s for no run', line => {
    expect(pieceOf(`${line}\n`)).toEqual({
      headers: [],
      runs: [],
      lost: 0,
      unreadable: 1,
      streams: [],
      counts: [],
      flaws: [],
    })
  })
})

describe('serve({ journal })', () => {
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ secret: 'the answer' }) })

  it('keeps each call that charged, and the number of the others, until the server has stopped; and no body', async () => {
    const seller = await openSeller([work], { journal: path })
    expect((await pay(seller, `${seller.url}/work`, { body: { secret: 'the question' } })).status).toBe(200)
    await seller.close()
    const { runs, counts } = pieceOf(await readFile(path, 'utf8'))
    expect(runs.map(({ id }) => id)).toEqual([seller.ended.at(-1)!.id])
    const { startedMs: fromMs } = seller.ended[0]!
    const others = seller.ended.length - 1
    expect(counts).toEqual([
      expect.objectContaining({ counted: [{ endpoint: 'work', final: 'quoted', calls: others }], fromMs }),
    ])
    expect(runs.at(-1)).toMatchObject({
      final: 'settled',
      amount: '10000',
      payer: seller.ended.at(-1)!.payer,
    })
    expect(await readFile(path, 'utf8')).not.toContain('the question')
    expect(await readFile(path, 'utf8')).not.toContain('the answer')
  })

  it('says on health and metrics how many calls wait and are lost, and stays healthy', async () => {
    const seller = await openSeller([work], { journal: path })
    const told = async () => ({
      health: await (await fetch(`${seller.url}/health`)).json(),
      metrics: await (await fetch(`${seller.url}/metrics`)).text(),
    })
    const well = await told()
    expect(well.health).toMatchObject({ ok: true, journal: { writable: true, waiting: 0, lost: 0 } })
    expect(well.metrics).toMatch(/^svc_journal_lost_total 0$/m)
    const back = await withoutDisk()
    await pay(seller, `${seller.url}/work`, { body: {} })
    await eventually(async () =>
      expect((await told()).health).toMatchObject({ ok: true, journal: { writable: false, waiting: 1 } }),
    )
    expect((await told()).metrics).toMatch(/^svc_journal_waiting 1$/m)
    await back()
    await seller.close()
    expect(await read()).toMatchObject({ ...WHOLE, ids: [seller.ended.at(-1)!.id] })
  })

  it('refuses to start where the journal cannot be written or is another’s, and holds nothing then', async () => {
    const journal = join(folder, 'none', 'runs.jsonl')
    await expect(openSeller([work], { journal })).rejects.toMatchObject({ code: 'journal_unwritable' })
    const first = await openSeller([work], { journal: path })
    await expect(openSeller([work], { journal: path })).rejects.toMatchObject({ code: 'journal_locked' })
    await first.close()
    // What else is refused is refused before the journal is locked.
    const wrong = { journal: path, facilitatorUrl: [] }
    await expect(openSeller([work], wrong)).rejects.toMatchObject({ code: 'invalid_options' })
    await (await openSeller([work], { journal: path })).close()
  })

  it.each([{ path: '' }, { path: 'runs.jsonl', maxBytes: 0 }, ''])('refuses %j at start', async wrong => {
    await expect(openSeller([work], { journal: wrong })).rejects.toMatchObject({ code: 'invalid_options' })
  })
})
