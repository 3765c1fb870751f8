/** What strangers can write to a journal, what it holds within its bound, and what an audit says of the rest. */

import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Timeline } from '../../proof/simulation/kernel/timeline.js'
import { markAudited, olderFiles } from '../../src/audit/journal/append-to-files.js'
import { openJournals } from '../../src/audit/journal/journal-reader.js'
import { journal } from '../../src/audit/journal/journal-writer.js'
import type { Transfer } from '../../src/audit/reconciliation/incoming-transfers.js'
import { reconcileJournal } from '../../src/audit/reconciliation/reconciliation-report.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import { silentLogger } from '../../src/ports/logger.js'
import { startSandbox } from '../../src/sandbox.js'
import { svc } from '../cli/run.js'
import { readJournals } from '../support/journals.js'
import { clockOf } from '../support/virtual-clock.js'
import {
  AMOUNT,
  ASSET,
  callOf,
  callOn,
  HEADER,
  PAY_TO,
  PAYER,
  pathEndingIn,
  recoveredPath,
  replayedPath,
  settledPath,
  txIdOf,
  WAYS,
} from './calls.js'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-bound-'))
  path = join(folder, 'runs.jsonl')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function piecesOf(paths: readonly string[] = [path]) {
  const all = { runs: [] as string[], calls: 0, countLines: 0, flaws: [] as string[], missing: 0 }
  for await (const { runs, counts, flaws, missing } of readJournals(paths)) {
    all.runs.push(...runs.map(({ id }) => id))
    all.countLines += counts.length
    for (const { calls } of counts.flatMap(({ counted }) => counted)) all.calls += calls
    all.flaws.push(...flaws.map(({ says }) => says))
    all.missing += missing?.lines ?? 0
  }
  return all
}

describe('what costs its sender nothing', () => {
  const free = Array.from({ length: WAYS }, (_, number) => callOf(number)).filter(
    ({ path, charged }) => charged === 'no' && !path.some(step => step.startsWith('recording.')),
  )

  it('is counted, in a line of a bounded size a minute, whatever is asked for and however often', async () => {
    const timeline = new Timeline()
    const writing = journal({
      path,
      bytesMax: 1_000_000,
      header: HEADER,
      logger: silentLogger,
      clock: clockOf(timeline),
    })
    const headerBytes = (await stat(path)).size
    for (let minute = 0; minute < 3; minute++) {
      for (let number = 0; number < 5_000; number++) {
        const endpoint = `endpoint-${number % 1_000}`
        writing.ended({ ...free[number % free.length]!, endpoint, txId: txIdOf(number) })
      }
      await timeline.run((minute + 1) * 60_000)
    }
    await writing.close()
    expect(await piecesOf()).toEqual({ runs: [], calls: 15_000, countLines: 3, flaws: [], missing: 0 })
    expect((await stat(path)).size - headerBytes).toBeLessThan(3 * 2_000)
  })

  it('is asking again: a replay has one line for its payment, and so has a doubt', async () => {
    const writing = journal({ path, bytesMax: 1_000_000, header: HEADER, logger: silentLogger })
    const txId = txIdOf(7)
    const of = (id: string, path: readonly string[], final: EndedCall['final']) => ({
      ...callOn(path, final),
      id,
      txId,
    })
    const undecided = pathEndingIn('recovering.undecided')
    writing.ended(of('undecided', undecided, 'undecided'))
    for (let again = 0; again < 100; again++) writing.ended(of(`u${again}`, undecided, 'undecided'))
    writing.ended(of('found', recoveredPath, 'replayed'))
    writing.ended(of('replayed', replayedPath, 'replayed'))
    for (let again = 0; again < 100; again++) writing.ended(of(`r${again}`, replayedPath, 'replayed'))
    writing.ended(of('undecided after', undecided, 'undecided'))
    await writing.close()
    const { runs, calls } = await piecesOf()
    expect([runs, calls]).toEqual([['undecided', 'found', 'replayed', 'undecided after'], 200])
  })
})

/** Writes settled calls, in groups of their own, so that each may begin a file. */
async function written(count: number, bytesMax: number, warn = vi.fn(), from = 0, header = HEADER) {
  const startedMs = Date.now()
  for (let number = from; number < from + count; number++) {
    const writing = journal({ path, bytesMax, header, logger: { ...silentLogger, warn } })
    writing.ended({ ...callOn(settledPath, 'settled', number), startedMs })
    await writing.close()
  }
  return warn
}

async function bytesOf(): Promise<number> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.jsonl'))
  const sizes = await Promise.all(names.map(async name => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

describe('a journal with a bound', () => {
  const BOUND = 16_000

  it('holds it with all files, deletes the oldest, and is read without a flaw from its oldest line on', async () => {
    const warn = await written(60, BOUND)
    expect(await bytesOf()).toBeLessThanOrEqual(BOUND)
    const { runs, flaws, missing } = await piecesOf()
    expect(runs.length).toBeGreaterThan(5)
    expect(runs).toEqual(Array.from({ length: runs.length }, (_, at) => `call-${60 - runs.length + at}`))
    expect([flaws, missing]).toEqual([[], 60 - runs.length])
    const files = olderFiles(path)
    expect(files[0]).not.toContain('000001')
    // As a shell expands runs*.jsonl, and in any order.
    expect(await piecesOf([...files, path])).toEqual(await piecesOf())
    expect(await piecesOf([path, ...files.toReversed()])).toEqual(await piecesOf())
    const said = warn.mock.calls.map(([, message]) => String(message))
    expect(said.some(message => message.includes('svc audit never read it'))).toBe(true)
    expect(said.some(message => message.includes('is deleted next'))).toBe(true)
  })

  it('warns of no file that an audit has read', async () => {
    await markAudited(path, Date.now() + 3_600_000)
    const warn = await written(60, BOUND)
    expect(warn).not.toHaveBeenCalled()
    expect((await piecesOf()).missing).toBeGreaterThan(0)
  })

  it('is still read as it was opened, while its oldest files are deleted', async () => {
    await written(20, BOUND)
    const before = await piecesOf()
    const open = await openJournals([path])
    await written(40, BOUND, vi.fn(), 20)
    for (let times = 0; times < 2; times++) {
      const runs: string[] = []
      for await (const piece of open.pieces()) runs.push(...piece.runs.map(({ id }) => id))
      expect(runs).toEqual(before.runs)
    }
    await open.close()
  })

  it('holds the bound and the newest lines for lines of any lengths', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 30 }),
        async lengths => {
          await rm(folder, { recursive: true, force: true })
          folder = await mkdtemp(join(tmpdir(), 'svc-bound-'))
          path = join(folder, 'runs.jsonl')
          for (const [number, length] of lengths.entries()) {
            const writing = journal({ path, bytesMax: 40_000, header: HEADER, logger: silentLogger })
            writing.ended({ ...callOn(settledPath, 'settled', number), mismatch: 'x'.repeat(length) })
            await writing.close()
            expect(await bytesOf()).toBeLessThanOrEqual(40_000)
          }
          const { runs, flaws, missing } = await piecesOf()
          const first = lengths.length - runs.length
          expect(runs).toEqual(lengths.slice(first).map((_, at) => `call-${first + at}`))
          expect([flaws, missing]).toEqual([[], first])
        },
      ),
      { numRuns: 25 },
    )
  })
})

describe('an audit of a journal whose oldest lines are gone', () => {
  const transferOf = (number: number, landedMs: number): Transfer => ({
    txId: txIdOf(number),
    payer: PAYER,
    receiver: PAY_TO,
    asset: ASSET,
    amount: BigInt(AMOUNT),
    landedMs,
  })

  it('covers the time since its oldest line, says so, and takes no payment before it for unexplained', async () => {
    await written(60, 16_000)
    const landedMs = Math.floor(Date.now() / 1_000) * 1_000
    const dayMs = 86_400_000
    const landed = Array.from({ length: 60 }, (_, number) => transferOf(number, landedMs))
    const audited = (more: Transfer[] = [], fromMs?: number) =>
      reconcileJournal({
        journal: () => readJournals([path]),
        period: { fromMs },
        nowMs: () => Date.now() + dayMs,
        transfers: () => ({
          async *to() {
            yield [...landed, ...more]
          },
          find: async txId => landed.find(each => each.txId === txId),
          close: async () => {},
        }),
      })
    const report = await audited()
    const { missing } = await piecesOf()
    expect(report.differences).toEqual([])
    expect(report.missing).toMatchObject({ lines: missing, isInPeriod: false })
    expect(report.period.fromMs).toBe(report.missing!.beforeMs)
    const asked = await audited([], landedMs - dayMs)
    expect(asked.missing).toMatchObject({ isInPeriod: true })
    expect(asked.period.fromMs).toBe(report.missing!.beforeMs)
    // What lands after the oldest line is compared as ever.
    const later = await audited([transferOf(99, landedMs + 3_600_000)])
    expect(later.differences.map(({ finding }) => finding)).toEqual(['unexplained_transaction'])
  })

  it('by svc audit: exit code 1 where the period that was asked for begins earlier; and the server knows of it', async () => {
    const sandbox = await startSandbox()
    await written(60, 16_000, vi.fn(), 0, { ...HEADER, payTo: sandbox.seller.address })
    const asked = await svc(['audit', path, '--from', '2020-01-01', '--json'], { SVC_SANDBOX: sandbox.url })
    expect(JSON.parse(asked.stdout).missing).toMatchObject({ isInPeriod: true })
    expect(asked.stderr).toMatch(/nothing before \d{4}-\S+Z is there/)
    await rm(`${path}.audited`)
    const all = await svc(['audit', path], { SVC_SANDBOX: sandbox.url })
    expect(all.stdout).toMatch(/^before {6}\d+ lines that are not there/m)
    const untilMs = Date.parse((await readFile(`${path}.audited`, 'utf8')).trim())
    expect(untilMs).toBeGreaterThan(Date.now() - 120_000)
    const part = await svc(['audit', path, '--from', '2120-01-01'], { SVC_SANDBOX: sandbox.url })
    expect(part.code).toBe(2)
    expect(Date.parse((await readFile(`${path}.audited`, 'utf8')).trim())).toBe(untilMs)
    await sandbox.close()
  })
})
