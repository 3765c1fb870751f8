/**
 * Each line has a number and a checksum: accidents and edits by hand show. It is no signature, for a program can renew it. Calls
 * that charged nothing are counted: a line for each would cost its sender nothing, and push out the lines about money.
 */
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { reportsCharge } from '../../domain/income-bookings.js'
import { isNetworkKey, type NetworkKey } from '../../domain/network.js'
import { isRecord } from '../../domain/x402.js'
import type { EndedCall } from '../../ports/call-observer.js'

/** The seller whose calls a journal holds. With it a journal can be audited years later. */
export interface JournalHeader {
  readonly journal: 1
  readonly agent: string
  readonly network: NetworkKey
  readonly payTo: string
  /** Decimal id of USDC on that network. */
  readonly asset: string
  /** The names of the endpoints that the agent sells. */
  readonly endpoints?: readonly string[]
}

/** The first line of each file, and of each process that writes to it. */
export interface HeaderLine extends JournalHeader {
  /** The number of the line that follows. Journals without it have no numbers. */
  readonly next?: number
  /** When the process began to write, in milliseconds since the epoch. */
  readonly openedMs?: number
}

/** A run as its line has it. */
export interface JournalRun extends EndedCall {
  /** The line was written when the charge was decided, before the stream had left: a line of its own says how the stream ended. */
  readonly streaming?: true
}

/** How the stream of an earlier line ended. */
export interface EndedStream extends Pick<EndedCall, 'txId' | 'brokenBy'> {
  readonly stream: string
}

/** How many calls without a line of their own ended since that moment, in milliseconds since the epoch. */
export interface CountLine {
  readonly counted: readonly CountedCalls[]
  readonly fromMs: number
}

/** A line has a number unless it is a header, and is intact unless it was changed; of one that cannot be read neither may be known. */
export type JournalLine = { readonly number?: number } & (
  | { readonly kind: 'header'; readonly header: HeaderLine; readonly intact: boolean }
  | { readonly kind: 'run'; readonly run: JournalRun; readonly intact: boolean }
  | { readonly kind: 'stream'; readonly ended: EndedStream; readonly intact: boolean }
  | { readonly kind: 'counted'; readonly line: CountLine; readonly intact: boolean }
  | { readonly kind: 'lost'; readonly lost: number; readonly intact: boolean }
  | { readonly kind: 'unreadable'; readonly intact?: boolean }
)

/** In the year 5138: with so long a call, and some slack, still a date. */
const MS_MAX = 1e14
const SUM_BEGINS = ',"sum":"'
const SUM_LENGTH = `${SUM_BEGINS}00000000"}`.length

export function headerLine(header: JournalHeader, next: number, openedMs: number): string {
  return summed(JSON.stringify({ ...header, next, openedMs }))
}

/** The text of a run's line, without the number that it gets when it is written, and without what the handler said. */
export function runText(call: JournalRun): string {
  const timingsMs = call.timingsMs.map(toMicroseconds)
  return JSON.stringify({ ...call, timingsMs, error: undefined, logs: undefined })
}

export function streamText({ id, txId, brokenBy }: EndedCall): string {
  return JSON.stringify({ stream: id, txId, brokenBy } satisfies EndedStream)
}

export function numberedLine(number: number, text: string): string {
  return summed(`{"n":${number},${text.slice(1)}`)
}

export function numberAfter(read: JournalLine): number | undefined {
  if (read.kind === 'header') return read.header.next
  return read.number === undefined ? undefined : read.number + 1
}

export function readLine(line: string): JournalLine {
  const value = parsed(line)
  if (!isRecord(value)) return { kind: 'unreadable' }
  const intact = isIntact(line)
  const number = Number.isSafeInteger(value.n) ? (value.n as number) : undefined
  if (has<EndedCall>(value, RUN)) return { kind: 'run', run: value, number, intact }
  if (has<HeaderLine>(value, HEADER))
    return { kind: 'header', header: value, intact: intact || value.next === undefined }
  if (has<EndedStream>(value, STREAM)) return { kind: 'stream', ended: value, number, intact }
  if (has<CountLine>(value, COUNT)) return { kind: 'counted', line: value, number, intact }
  if (has<{ lost: number }>(value, LOST)) return { kind: 'lost', lost: value.lost, number, intact }
  // A later version may have written it: it is not read, and it has its place.
  return intact ? { kind: 'unreadable', number, intact } : { kind: 'unreadable' }
}

function summed(json: string): string {
  const text = json.slice(0, -1)
  return `${text}${SUM_BEGINS}${sumOf(text)}"}\n`
}

function isIntact(line: string): boolean {
  const text = line.slice(0, -SUM_LENGTH)
  return line.startsWith(SUM_BEGINS, text.length) && line.endsWith(`${SUM_BEGINS}${sumOf(text)}"}`)
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

type Field = (value: unknown) => boolean

const isText: Field = value => typeof value === 'string'
const isMs: Field = value => typeof value === 'number' && value >= 0 && value <= MS_MAX
const isCount: Field = value => Number.isSafeInteger(value) && (value as number) > 0
const listOf =
  (item: Field): Field =>
  value =>
    Array.isArray(value) && value.every(item)
const maybe =
  (field: Field): Field =>
  value =>
    value === undefined || field(value)

const isUnits: Field = value => Number.isSafeInteger(value) && (value as number) >= 0
const UNITS = {
  ...{ balance: isText, sold: maybe(isUnits), used: maybe(isUnits) },
  ...{ inDoubt: maybe(isUnits), left: maybe(isUnits) },
}
/** What a line of each kind must have, as far as its readers rely on it. */
const RUN = {
  ...{ id: isText, endpoint: isText, final: isText, charged: isText, path: Array.isArray },
  ...{ startedMs: isMs, ms: isMs, txId: maybe(isText), payer: maybe(isText), asset: maybe(isText) },
  window: maybe(isText),
  amount: maybe(value => typeof value === 'string' && /^\d{1,20}$/.test(value)),
  units: maybe(value => has(value, UNITS)),
}
const HEADER = {
  ...{ journal: value => value === 1, network: isNetworkKey, payTo: isText, asset: isText },
  ...{ next: maybe(Number.isSafeInteger), openedMs: maybe(isMs) },
  endpoints: maybe(listOf(isText)),
} satisfies Record<string, Field>
const STREAM = {
  stream: isText,
  txId: maybe(isText),
  brokenBy: maybe(by => by === 'caller' || by === 'seller'),
}
const KIND = { endpoint: maybe(isText), final: maybe(isText), calls: isCount }
const COUNT = { fromMs: isMs, counted: listOf(kind => has(kind, KIND)) }
const LOST = { lost: isCount }

function has<T>(value: unknown, fields: Readonly<Record<string, Field>>): value is T {
  return isRecord(value) && Object.entries(fields).every(([name, is]) => is(value[name]))
}

/** Times of steps, without the digits that a clock makes up. */
export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

interface CountedCalls {
  /** Absent, like `final`, where there were more kinds than a line has. */
  readonly endpoint?: string
  readonly final?: string
  readonly calls: number
}

/** Strangers can call every endpoint in every wrong way: a line has at most so many kinds, about 1 kB. */
const KINDS_MAX = 20
/** Payments of which the last step is remembered. */
const RECENT_MAX = 10_000

/** It got as far as recording, or learnt of an earlier charge. What is asked again for nothing, with one result, has one line. */
export function lineChoice(): (call: EndedCall) => boolean {
  const lastSteps = new LRUCache<string, string>({ max: RECENT_MAX })
  return call => {
    const { txId, path, charged } = call
    if (call.units !== undefined) return true
    const isOfCharge = reportsCharge(call) || path.some(step => step.startsWith('recording.'))
    if (!isOfCharge && (charged === 'no' || txId === undefined)) return false
    if (txId === undefined) return true
    const [last = '', before] = [path.at(-1), lastSteps.get(txId)]
    lastSteps.set(txId, last)
    return isOfCharge || last !== before
  }
}

export function callCounts() {
  let kinds = new Map<string, CountedCalls>()
  let fromMs = 0
  return {
    add({ endpoint, final, startedMs }: EndedCall): void {
      if (kinds.size === 0) fromMs = startedMs
      const name = `${endpoint} ${final}`
      const isOther = kinds.size >= KINDS_MAX && !kinds.has(name)
      const { calls } = kinds.get(isOther ? '' : name) ?? { calls: 0 }
      kinds.set(isOther ? '' : name, { ...(!isOther && { endpoint, final }), calls: calls + 1 })
    },
    take() {
      const counted = [...kinds.values()]
      kinds = new Map()
      return { counted, fromMs }
    },
  }
}
