/**
 * Whole books: whatever a payment's way, it is booked once, and the sums are what the ledger moved. Then differences are
 * planted in the journals of that very seller, and each is found under its name.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { numberedLine } from '../../src/audit/journal/line-format.js'
import type { Finding } from '../../src/audit/reconciliation/audit-findings.js'
import { indexedTransfers } from '../../src/audit/reconciliation/incoming-transfers.js'
import {
  type ReconciliationOptions,
  reconcileJournal,
} from '../../src/audit/reconciliation/reconciliation-report.js'
import { defineEndpoint } from '../../src/index.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import { svc } from '../cli/run.js'
import { eventually } from '../support/eventually.js'
import { readJournals } from '../support/journals.js'
import { ask, openSeller, pay, type Seller, signFor } from '../support/seller.js'
import { pathTo, recoveredPath, replayedPath } from './calls.js'

const KEY = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }
const NOTHING_LISTENS = 'http://127.0.0.1:9'
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
const other = defineEndpoint({ name: 'other', price: '$0.01', handler: () => ({ done: true }) })

let folder: string
let seller: Seller
let replica: Seller
/** The journals of the seller and of its replica, line by line, as they were written. */
let lines: readonly [readonly string[], readonly string[]]
let received: bigint | null

/**
 * Three calls that are settled. One that a replica submits, without learning what became of it; the seller finds its
 * payment landed when the caller comes back, and replays the answer once more to a third request.
 */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-books-'))
  let offsetMs = 0
  const charges = memoryChargeStore({
    clock: { now: Date.now, monotonic: () => performance.now() + offsetMs },
  })
  const options = { stores: { charges }, idempotency: { onLostResponse: 'replay' } } as const
  seller = await openSeller([work, other], { ...options, journal: join(folder, 'seller.jsonl') })
  replica = await seller.replica({
    journal: join(folder, 'replica.jsonl'),
    algodUrl: NOTHING_LISTENS,
    advanced: { timeouts: { certaintyMs: 200, reconcilePauseMs: 50 } },
  })
  for (let times = 0; times < 3; times++) {
    expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
  }
  const payment = await signFor(seller, `${seller.url}/work`, { body: {} })
  const request = { body: {}, headers: { ...KEY, ...payment } }
  seller.sandbox.faults.set('settle', 'die-after')
  expect((await ask(`${replica.url}/work`, request)).status).toBe(503)
  seller.sandbox.faults.clear()
  offsetMs = 3_600_000
  for (const replayed of [1, 2]) {
    const response = await ask(`${seller.url}/work`, request)
    expect([replayed, response.status]).toEqual([replayed, 200])
    expect(response.headers.get('idempotency-replayed')).toBe('true')
  }
  received = seller.sandbox.balance(seller.sandbox.seller.address).usdc
  await replica.close()
  const metrics = await (await fetch(`${seller.url}/metrics`)).text()
  expect(metrics).toMatch(/^svc_settled_total 4$/m)
  expect(metrics).toMatch(/^svc_settled_usd_total 0\.04$/m)
  await eventually(async () =>
    expect(await linesOf('seller')).toHaveLength(
      seller.ended.filter(({ charged }) => charged !== 'no').length + 1,
    ),
  )
  lines = [await linesOf('seller'), await linesOf('replica')]
})
afterAll(async () => {
  await seller.close()
  await rm(folder, { recursive: true, force: true })
})

async function linesOf(name: string): Promise<string[]> {
  return (await readFile(join(folder, `${name}.jsonl`), 'utf8')).trimEnd().split('\n')
}

async function written(contents: readonly (readonly string[])[]): Promise<string[]> {
  const paths = contents.map(() => join(folder, `planted-${Math.random().toString(36).slice(2)}.jsonl`))
  await Promise.all(
    contents.map((content, at) => writeFile(paths[at]!, content.map(line => `${line}\n`).join(''))),
  )
  return paths
}

async function audited(
  contents: readonly (readonly string[])[],
  options: Partial<ReconciliationOptions> = {},
) {
  const paths = await written(contents)
  return reconcileJournal({
    journal: () => readJournals(paths),
    transfers: () => indexedTransfers({ url: seller.sandbox.url }),
    // The sandbox's clock is the system's: an hour later, no call can be at work.
    nowMs: () => Date.now() + 3_600_000,
    ...options,
  })
}

describe('books', () => {
  it('have each payment once, and sum up to what the ledger moved', async () => {
    const booked: (string | undefined)[] = []
    const report = await audited(lines, { onBooked: ({ txId }) => booked.push(txId) })
    expect(report).toMatchObject({ differences: [], more: false, lost: 0, unreadable: 0 })
    expect(report.days.reduce((sum, { takenBaseUnits }) => sum + takenBaseUnits, 0n)).toBe(received)
    expect(received).toBe(40_000n)
    expect(new Set(booked).size).toBe(4)
    expect(booked).toHaveLength(4)
  })

  it('know of a charge from the run that learns of it first, with all that it moved', () => {
    const [doubtful] = replica.ended
    const [learnt, again] = seller.ended.slice(-2)
    expect(doubtful).toMatchObject({ final: 'inDoubt', charged: 'maybe' })
    expect(doubtful!.amount).toBeUndefined()
    expect(learnt).toMatchObject({
      path: recoveredPath,
      charged: 'earlier',
      amount: '10000',
      asset: '10458941',
      txId: doubtful!.txId,
      payer: seller.sandbox.wallet.address,
    })
    expect(again).toMatchObject({ path: replayedPath, charged: 'earlier', txId: doubtful!.txId })
    expect(again!.amount).toBeUndefined()
  })

  it('are printed as a row a payment, and read from several journals', async () => {
    const paths = await written(lines)
    const { code, stdout, stderr } = await svc(['audit', ...paths, '--csv', '--to', '2120-01-01'], {
      SVC_SANDBOX: seller.sandbox.url,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Nothing differs.') })
    const [, ...rows] = stdout.trimEnd().split('\n')
    expect(rows.map(row => row.split(',')[2])).toEqual(['0.01', '0.01', '0.01', '0.01'])
  })

  it('are not whole where a replica’s journal is left out', async () => {
    const alone = await audited([lines[1]])
    expect(alone.differences.map(({ finding }) => finding).toSorted()).toEqual([
      'settled_in_doubt',
      'unexplained_transaction',
      'unexplained_transaction',
      'unexplained_transaction',
    ])
  })
})

/** A run as its line has it. */
type Line = Record<string, unknown> & Partial<EndedCall>
/** Changes the runs of one journal; the first argument has those of the seller, or of the replica. */
type Change = (runs: Line[]) => Line[]

const NO_MONEY = { amount: undefined, asset: undefined }
const is = (final: string) => (run: Line) => run.final === final
const settledIn = (runs: readonly Line[]) => runs.findIndex(is('settled'))
const recoveredIn = (runs: readonly Line[]) =>
  runs.findIndex(({ path }) => path?.at(-1) === 'recovering.found')

const editing =
  (fields: Line, at: (runs: readonly Line[]) => number = settledIn): Change =>
  runs =>
    runs.with(at(runs), { ...runs[at(runs)]!, ...fields })
const unsettledPath = (path: readonly string[]) => pathTo('unsettled', path.slice(0, -1))

/** What is planted in the seller's journal, and what shows of it even where numbers and checksums were renewed. */
const PLANTED: readonly (readonly [what: string, change: Change, findings: readonly Finding[]])[] = [
  ['a missing run', runs => runs.toSpliced(settledIn(runs), 1), ['unexplained_transaction']],
  ['a doubled run', runs => runs.toSpliced(settledIn(runs), 0, runs[settledIn(runs)]!), ['doubled_line']],
  ['a doubled replay', runs => [...runs, runs.findLast(is('replayed'))!], []],
  ['another amount', editing({ amount: '20000' }), ['wrong_amount']],
  ['no amount', editing({ amount: undefined }), ['wrong_amount']],
  ['another asset', editing({ asset: '1' }), ['wrong_asset']],
  ['another payer', editing({ payer: 'A'.repeat(58) }), ['wrong_payer']],
  ['no payer', editing({ payer: undefined }), []],
  ['another txId', editing({ txId: 'A'.repeat(52) }), ['missing_transaction', 'unexplained_transaction']],
  ['no txId', editing({ txId: undefined }), ['missing_transaction', 'unexplained_transaction']],
  [
    'the txId of another run',
    runs => editing({ txId: runs.filter(is('settled'))[1]!.txId })(runs),
    ['charged_twice', 'unexplained_transaction'],
  ],
  ['a renamed endpoint', editing({ endpoint: 'walk' }), ['unknown_endpoint']],
  ['the endpoint renamed to another that is sold', editing({ endpoint: 'other' }), []],
  ['a forged path', editing({ path: ['received.admitted', 'settling.settled'] }), ['illegal_path']],
  ['another final state', editing({ final: 'served' }), ['illegal_path']],
  ['charged changed to no', editing({ charged: 'no' }), ['told_not_charged', 'illegal_path']],
  ['a settled run rewritten as replayed', editing(replay()), ['unbooked_transaction']],
  [
    'a settled run rewritten as unsettled',
    runs => {
      const { path } = runs[settledIn(runs)]!
      return editing({ final: 'unsettled', charged: 'no', path: unsettledPath(path!), ...NO_MONEY })(runs)
    },
    ['told_not_charged'],
  ],
  ['a date moved to another day', runs => moved(runs, -2 * 86_400_000), ['wrong_time']],
  ['a date moved by a minute', runs => moved(runs, -60_000), []],
  ['another status', editing({ status: 201 }), []],
  ['another code', editing({ code: 'served' }), []],
  ['another id', editing({ id: 'made-up' }), []],
  ['another trace', editing({ traceId: 'made-up' }), []],
  ['another duration', editing({ ms: 1 }), []],
  ['other timings', editing({ timingsMs: [] }), []],
  ['a mismatch that was none', editing({ mismatch: 'payer' }), []],
  [
    'a run that recovered a payment dropped',
    runs => runs.toSpliced(recoveredIn(runs), 1),
    ['unbooked_transaction'],
  ],
  ['one rewritten as a later replay', editing(replay(), recoveredIn), ['unbooked_transaction']],
  ['two runs that changed places', runs => [runs[1]!, runs[0]!, ...runs.slice(2)], []],
  ['the first run cut off', runs => runs.slice(1), ['unexplained_transaction']],
  [
    'the last runs cut off',
    runs => runs.slice(0, 1),
    ['unexplained_transaction', 'unexplained_transaction', 'settled_in_doubt'],
  ],
]

function replay(): Line {
  return { final: 'replayed', charged: 'earlier', path: replayedPath, ...NO_MONEY }
}

function moved(runs: readonly Line[], byMs: number): Line[] {
  const at = settledIn(runs)
  return runs.with(at, { ...runs[at]!, startedMs: runs[at]!.startedMs! + byMs })
}

/** By hand: numbers and checksums stay as they are. */
function byHand(of: readonly string[], change: Change): string[] {
  const [head, ...runs] = of
  return [head!, ...change(runs.map(line => JSON.parse(line))).map(run => JSON.stringify(run))]
}

/** By a program that renews both. */
function byProgram(of: readonly string[], change: Change): string[] {
  const [head, ...runs] = byHand(of, change)
  const renewed = runs.map((line, at) => {
    const { n: _, sum: __, ...run } = JSON.parse(line)
    return numberedLine(at + 1, JSON.stringify(run)).trimEnd()
  })
  return [head!, ...renewed]
}

const BY_HAND: ReadonlySet<string> = new Set(['edited_line', 'missing_lines', 'doubled_line', 'moved_line'])

describe('planted in the journal', () => {
  it('are at least twenty-four differences', () => expect(PLANTED.length).toBeGreaterThanOrEqual(24))

  it.each(PLANTED)('%s: found where numbers and checksums were renewed', async (_, change, expected) => {
    const { differences } = await audited([byProgram(lines[0], change), lines[1]])
    expect(differences.map(({ finding }) => finding).toSorted()).toEqual([...expected].toSorted())
  })

  it.each(PLANTED)('%s: found where it was made by hand', async (what, change, expected) => {
    const { differences } = await audited([byHand(lines[0], change), lines[1]])
    const found = differences.map(({ finding }) => finding)
    expect(found).toEqual(expect.arrayContaining([...expected]))
    // Nothing shows that a tail was cut off but the chain.
    if (what !== 'the last runs cut off') expect(found.some(finding => BY_HAND.has(finding))).toBe(true)
  })

  it('in doubt dropped: its transaction is booked, and its line is missed', async () => {
    const [head, doubtful] = lines[1]
    const unpaid = { ...seller.ended.find(({ final }) => final === 'quoted')!, id: 'later' }
    const later = numberedLine(2, JSON.stringify(unpaid)).trimEnd()
    expect((await audited([lines[0], [head!, doubtful!, later]])).differences).toEqual([])
    const { differences } = await audited([lines[0], [head!, later]])
    expect(differences.map(({ finding }) => finding)).toEqual(['missing_lines'])
  })

  it.each([
    [
      'another payTo',
      (head: string) => head.replace(seller.sandbox.seller.address, seller.sandbox.wallet.address),
      'wrong_receiver',
    ],
    [
      'another asset',
      (head: string) => head.replace('"asset":"10458941"', '"asset":"31566704"'),
      'wrong_asset',
    ],
  ])('%s in every head', async (_, change, finding) => {
    const changed = lines.map(([head, ...runs]) => [change(head!), ...runs])
    const { differences } = await audited(changed)
    const found = differences.map(each => each.finding)
    expect(found.filter(each => each === finding)).toHaveLength(4)
    expect(found.filter(each => each === 'edited_line')).toHaveLength(2)
  })

  it('no chain: an audit that cannot be made fails', async () => {
    const transfers = () => indexedTransfers({ url: NOTHING_LISTENS })
    await expect(audited(lines, { transfers })).rejects.toThrow()
  })

  it.each([
    ['lost calls', numberedLine(99, '{"lost":3}').trimEnd(), /^svc: .*3 calls lost \(/],
    [
      'a line that cannot be read',
      '{"id":"half of a li',
      /^svc: 1 line unreadable \(journal_incomplete\)\n$/,
    ],
  ])('%s: said, and exit code 1', async (_, line, expected) => {
    const paths = await written([[...lines[0], line], lines[1]])
    const { code, stdout, stderr } = await svc(['audit', ...paths, '--to', '2120-01-01'], {
      SVC_SANDBOX: seller.sandbox.url,
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(expected)
    expect(stdout).toMatch(/^(lost {8}3 calls|unreadable {2}1 line)/m)
  })

  it('what a caller was told wrongly is the first thing in the report', async () => {
    const [, change] = PLANTED.find(([what]) => what === 'a settled run rewritten as unsettled')!
    const paths = await written([byProgram(lines[0], change), lines[1]])
    const { code, stdout } = await svc(['audit', ...paths, '--to', '2120-01-01'], {
      SVC_SANDBOX: seller.sandbox.url,
    })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^told_not_charged: \$0\.01 from [A-Z2-7]{58} landed, and the caller was told /)
  })
})
