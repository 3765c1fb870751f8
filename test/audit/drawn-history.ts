/**
 * Histories of a seller, drawn by seed: agents of one seller with a journal each, what the chain has, and what is planted in
 * either. The journals are text that their own reader reads, in files as a server rotates them.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Dice } from '../../proof/simulation/kernel/dice.js'
import {
  headerLine,
  type JournalRun,
  numberedLine,
  runText,
  streamText,
} from '../../src/audit/journal/line-format.js'
import type {
  IncomingTransfers,
  Period,
  Transfer,
} from '../../src/audit/reconciliation/incoming-transfers.js'
import {
  type ReconciliationReport,
  reconcileJournal,
} from '../../src/audit/reconciliation/reconciliation-report.js'
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import { readJournals } from '../support/journals.js'
import {
  ASSET,
  callOn,
  HEADER,
  PAY_TO,
  pathEndingIn,
  pathTo,
  recoveredPath,
  replayedPath,
  STARTED_MS,
  settledPath,
  txIdOf,
} from './calls.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** One line of a journal, before it has its number. */
export interface Entry {
  readonly atMs: number
  text(): string
  /** The run that the line tells of. What is planted changes it. */
  run?: JournalRun
  /** The line was changed in the file. */
  edit?: (line: string) => string
}

/** A payment, and what its calls were told. */
export interface Payment {
  readonly story: StoryName
  readonly runs: readonly Entry[]
  transfer?: Transfer
  readonly journal: number
  isPlanted?: true
}

export interface History {
  readonly dice: Dice
  /** Of each agent, in the order in which they are written. */
  readonly journals: Entry[][]
  readonly payments: readonly Payment[]
  readonly landed: Set<Transfer>
  /** What the node knows, and the indexer does not. */
  readonly ahead: Set<string>
  readonly fromMs: number
  readonly toMs: number
  editedHead?: number
  /** What was done to the lines of a journal after they were written. */
  readonly tampered: Map<number, (lines: readonly WrittenLine[]) => readonly WrittenLine[]>
}

export interface WrittenLine {
  readonly text: string
  /** Of a head, whether a file begins with it. */
  readonly begins?: boolean
  readonly entry?: Entry
}

const elsewherePath = pathTo('paymentSpent', [...settledPath.slice(0, -1), 'settling.elsewhere'])
const refusedPath = pathTo('unsettled', [...settledPath.slice(0, -1), 'settling.refused'])
const coveredPath = pathTo('served', settledPath.slice(0, 3))
const spentPath = pathEndingIn('opening.spent')
const doubtPath = pathTo('inDoubt', [])

type Step = readonly [path: readonly string[], final: ChargeFinal, more?: Partial<JournalRun>]
const settled: Step = [settledPath, 'settled']
const doubt: Step = [doubtPath, 'inDoubt']
const denied: Step = [refusedPath, 'unsettled']
const recovered: Step = [recoveredPath, 'replayed']
const replayed: Step = [replayedPath, 'replayed']
const notKept: Step = [pathEndingIn('recovering.notKept'), 'answerNotKept']
const stream = { streaming: true } as const

interface Story {
  readonly steps: readonly Step[]
  readonly lands: boolean
}

/** What becomes of a payment: the calls that bring it, in turn, and whether it lands. In none of them anything is wrong. */
const STORIES = {
  paid: { steps: [settled], lands: true },
  replayed: { steps: [settled, replayed, replayed], lands: true },
  neverLanded: { steps: [doubt], lands: false },
  landedLater: { steps: [doubt, recovered, replayed], lands: true },
  doubtNotKept: { steps: [doubt, notKept], lands: true },
  denied: { steps: [denied], lands: false },
  broughtAgain: { steps: [denied, settled], lands: true },
  elsewhere: { steps: [[elsewherePath, 'paymentSpent'], settled], lands: true },
  elsewhereNever: { steps: [[elsewherePath, 'paymentSpent']], lands: false },
  slow: { steps: [settled, recovered], lands: true },
  spentAgain: { steps: [settled, [spentPath, 'paymentSpent']], lands: true },
  stream: { steps: [[settledPath, 'settled', stream]], lands: true },
  window: { steps: [[settledPath, 'settled', { windowEndsMs: STARTED_MS + 48 * HOUR_MS }]], lands: true },
} satisfies Record<string, Story>
export type StoryName = keyof typeof STORIES

const letters = (dice: Dice, length: number) =>
  Array.from({ length }, () => dice.pick([...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'])).join('')

export const endpointsOf = (journal: number) => [`ask-${journal}`, `sum-${journal}`]

/** Hours of the sales of one to three agents. */
export function drawHistory(seed: string): History {
  const dice = new Dice(seed)
  const agents = dice.between(1, 3)
  const payers = Array.from({ length: dice.between(1, 6) }, () => letters(dice, 58))
  const fromMs = STARTED_MS + dice.between(0, 24 * HOUR_MS)
  const toMs = fromMs + dice.span(HOUR_MS, 60 * HOUR_MS)
  const landed = new Set<Transfer>()
  const journals: Entry[][] = Array.from({ length: agents }, () => [])
  const payments: Payment[] = []
  const total = dice.between(4, 40)
  for (let number = 0; number < total; number++) {
    const story = dice.pick(Object.keys(STORIES) as StoryName[])
    const { steps, lands }: Story = STORIES[story]
    const journal = dice.between(0, agents - 1)
    const payer = dice.pick(payers)
    const amount = String(dice.span(1, 50_000_000))
    const txId = letters(dice, 44) + txIdOf(number).slice(44)
    let startedMs = dice.between(fromMs + 11 * MINUTE_MS, toMs)
    const firstMs = startedMs
    const runs = steps.map(([path, final, more], at): Entry => {
      const { timingsMs, ...call } = callOn(path, final, number)
      const endpoint = endpointsOf(journal)[number % 2]!
      // The one that settles a payment and the one that finds it landed are at work at the same time.
      if (at > 0 && story !== 'slow')
        startedMs += dice.span(1_000, story === 'elsewhere' ? 5_000 : 4 * MINUTE_MS)
      const ms = dice.span(2, 30_000)
      const run: JournalRun = {
        ...{ ...call, timingsMs, endpoint, startedMs, ms, txId, id: `${number}-${at}` },
        ...(call.amount !== undefined && { amount }),
        payer: dice.chance(0.9) ? payer : undefined,
        ...more,
      }
      const entry: Entry = { run, atMs: startedMs + ms, text: () => runText(entry.run!) }
      // Replicas share a store: the call that settles for another is often another's.
      const writer = story === 'elsewhere' || dice.chance(0.1) ? dice.between(0, agents - 1) : journal
      const own = endpointsOf(writer)[number % 2]!
      entry.run = { ...run, endpoint: own }
      journals[writer]!.push(entry)
      if (run.streaming) {
        const brokenBy = dice.pick(['caller', 'seller', undefined] as const)
        journals[writer]!.push({ atMs: startedMs + ms + 1, text: () => streamText({ ...run, brokenBy }) })
      }
      return entry
    })
    const payment: Payment = { story, runs, journal }
    payments.push(payment)
    if (!lands) continue
    // A block has whole seconds; clocks differ, and an indexer may have it minutes after the call.
    const landedMs = Math.floor((firstMs + dice.between(-20_000, 5 * MINUTE_MS)) / 1_000) * 1_000
    payment.transfer = { txId, payer, receiver: PAY_TO, asset: ASSET, amount: BigInt(amount), landedMs }
    landed.add(payment.transfer)
    // Sent back, wholly or in part: it goes the other way, and no audit of income sees it.
    if (dice.chance(0.1)) {
      const note = `refund of ${txId}`
      const back = { ...payment.transfer, payer: PAY_TO, receiver: payer, note, landedMs: landedMs + HOUR_MS }
      landed.add({ ...back, txId: letters(dice, 52) })
    }
  }
  // Transfers of another asset are none of ours; calls in windows and quotes are in every journal.
  landed.add({ ...strangers(dice, fromMs), asset: '31566704' })
  for (const [journal, entries] of journals.entries()) {
    for (let left = dice.between(1, 4); left > 0; left--) {
      const startedMs = dice.between(fromMs + 11 * MINUTE_MS, toMs)
      const [endpoint, calls] = [endpointsOf(journal)[0]!, dice.between(1, 900)]
      const line = { counted: [{ endpoint, final: 'quoted' as const, calls }], fromMs: startedMs }
      entries.push({ atMs: startedMs, text: () => JSON.stringify(line) })
      const run: JournalRun = {
        ...callOn(coveredPath, 'served', left),
        ...{ id: `covered-${journal}-${left}`, endpoint, startedMs, txId: undefined },
      }
      const covered: Entry = { run, atMs: startedMs + 1, text: () => runText(covered.run!) }
      entries.push(covered)
    }
    entries.sort((a, b) => a.atMs - b.atMs)
  }
  return { dice, journals, payments, landed, ahead: new Set(), fromMs, toMs, tampered: new Map() }
}

/** A transfer that no call brought. */
export function strangers(dice: Dice, landedMs: number): Transfer {
  const [txId, payer] = [letters(dice, 52), letters(dice, 58)]
  return { txId, payer, receiver: PAY_TO, asset: ASSET, amount: BigInt(dice.span(1, 9_000_000)), landedMs }
}

export interface Audited {
  readonly report: ReconciliationReport
  /** The ids of the runs, as the audit reads them: the first of two is where a difference of both is found. */
  readonly order: readonly string[]
}

export async function auditOf(history: History, period?: Period, dropsOldest = false): Promise<Audited> {
  const { dice, landed, toMs, ahead } = history
  const folder = await mkdtemp(join(tmpdir(), 'svc-drawn-history-'))
  try {
    const paths: string[] = []
    for (const journal of history.journals.keys()) {
      const files = filesOf(history, journal)
      const path = join(folder, `agent-${journal}.jsonl`)
      const named = files.map((text, at) => {
        const older = join(folder, `agent-${journal}.${String(at + 1).padStart(6, '0')}.jsonl`)
        return { path: at === files.length - 1 ? path : older, text }
      })
      const kept = dropsOldest ? named.slice(-2) : named
      await Promise.all(kept.map(file => writeFile(file.path, file.text)))
      paths.push(path)
    }
    const order: string[] = []
    for await (const { runs } of readJournals(paths)) order.push(...runs.map(({ id }) => id))
    const report = await reconcileJournal({
      journal: () => readJournals(paths),
      transfers: () => indexerOf([...landed], dice.between(1, 7)),
      confirmedRound: async (_, txId) => (ahead.has(txId) ? 7n : undefined),
      period,
      nowMs: () => toMs + 100 * 24 * HOUR_MS,
    })
    return { report, order }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Files of at most some lines; each begins with a head, and so does each process that begins anew. */
function filesOf({ dice, fromMs, journals, editedHead, tampered }: History, journal: number): string[] {
  const entries = journals[journal]!
  const agent = { ...HEADER, agent: `agent-${journal}`, endpoints: endpointsOf(journal) }
  const lines: WrittenLine[] = []
  let left = 0
  for (const [at, entry] of entries.entries()) {
    const isFirst = at === 0
    if (left-- === 0 || dice.chance(0.03)) {
      const head = headerLine(agent, at + 1, isFirst ? fromMs : Math.floor(entries[at - 1]!.atMs))
      const text = isFirst && editedHead === journal ? head.replace('agent-', 'owner-') : head
      lines.push({ text, begins: left === -1 })
      if (left === -1) left = dice.span(2, 60)
    }
    const text = numberedLine(at + 1, entry.text())
    lines.push({ text: entry.edit ? entry.edit(text) : text, entry })
  }
  const files: string[] = []
  for (const { text, begins } of tampered.get(journal)?.(lines) ?? lines) {
    if (begins) files.push('')
    files[files.length - 1] += text
  }
  return files
}

/** Pages of any length, also empty ones, in any order. */
function indexerOf(landed: readonly Transfer[], pageMax: number): IncomingTransfers {
  return {
    async *to(payTo, asset, { fromMs, toMs }) {
      const ours = landed.filter(each => each.receiver === payTo && each.asset === asset)
      const inTime = ours.filter(({ landedMs }) => landedMs >= fromMs && landedMs < toMs).reverse()
      for (let at = 0; at < inTime.length; at += pageMax) yield inTime.slice(at, at + pageMax)
      yield []
    },
    find: async txId => landed.find(each => each.txId === txId),
    close: async () => {},
  }
}
