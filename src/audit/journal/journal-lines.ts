/**
 * The lines of a journal. Each line has a number, one higher than the line before it, and a checksum of itself. They show
 * a line that was changed, removed, doubled or moved. The checksum finds accidents and edits by hand. It is no signature: a
 * program can renew it.
 */
import { crc32 } from 'node:zlib'
import { isNetworkKey } from '../../domain/network.js'
import { isRecord } from '../../domain/x402.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { CountedCalls } from './counted-calls.js'
import type { JournalHeader } from './journal-header.js'

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
  /** The id of its run. */
  readonly stream: string
}

/** How many calls without a line of their own ended since that moment, in milliseconds since the epoch. */
export interface CountLine {
  readonly counted: readonly CountedCalls[]
  readonly fromMs: number
}

export type JournalLine =
  | { readonly kind: 'header'; readonly header: HeaderLine; readonly intact: boolean }
  | { readonly kind: 'run'; readonly run: JournalRun; readonly number?: number; readonly intact: boolean }
  | {
      readonly kind: 'stream'
      readonly ended: EndedStream
      readonly number?: number
      readonly intact: boolean
    }
  | { readonly kind: 'counted'; readonly line: CountLine; readonly number?: number; readonly intact: boolean }
  | { readonly kind: 'lost'; readonly lost: number; readonly number?: number; readonly intact: boolean }
  | { readonly kind: 'unreadable'; readonly number?: number; readonly intact?: boolean }

/** The largest time of a `Date`. */
const DATE_MS_MAX = 8.64e15
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

export function countText(line: CountLine): string {
  return JSON.stringify(line)
}

export function lostText(lost: number): string {
  return JSON.stringify({ lost })
}

export function numberedLine(number: number, text: string): string {
  return summed(`{"n":${number},${text.slice(1)}`)
}

/** The number of the next line; `undefined` for a line that states none. */
export function numberAfter(line: string): number | undefined {
  const read = readLine(line)
  if (read.kind === 'header') return read.header.next
  return read.number === undefined ? undefined : read.number + 1
}

export function readLine(line: string): JournalLine {
  const value = parsed(line)
  if (!isRecord(value)) return { kind: 'unreadable' }
  const intact = isIntact(line)
  const number = Number.isSafeInteger(value.n) ? (value.n as number) : undefined
  if (isRun(value)) return { kind: 'run', run: value, number, intact }
  if (isHeader(value)) return { kind: 'header', header: value, intact: intact || value.next === undefined }
  if (isStream(value)) return { kind: 'stream', ended: value, number, intact }
  if (isCount(value)) return { kind: 'counted', line: value, number, intact }
  if (Number.isSafeInteger(value.lost) && (value.lost as number) > 0)
    return { kind: 'lost', lost: value.lost as number, number, intact }
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

function isRun(value: unknown): value is EndedCall {
  if (!isRecord(value)) return false
  const { id, endpoint, final, path, charged, startedMs, ms } = value
  const { txId, payer, amount, asset } = value
  return (
    [id, endpoint, final, charged].every(text => typeof text === 'string') &&
    [startedMs, ms].every(isMs) &&
    Array.isArray(path) &&
    [txId, payer, asset].every(text => text === undefined || typeof text === 'string') &&
    (amount === undefined || (typeof amount === 'string' && /^\d{1,20}$/.test(amount)))
  )
}

function isStream(value: unknown): value is EndedStream {
  if (!isRecord(value)) return false
  const { stream, txId, brokenBy } = value
  return (
    typeof stream === 'string' &&
    (txId === undefined || typeof txId === 'string') &&
    [undefined, 'caller', 'seller'].some(by => by === brokenBy)
  )
}

function isCount(value: unknown): value is CountLine {
  if (!isRecord(value) || !Array.isArray(value.counted) || !isMs(value.fromMs)) return false
  return value.counted.every(each => {
    if (!isRecord(each)) return false
    const { endpoint, final, calls } = each
    const areTexts = [endpoint, final].every(text => text === undefined || typeof text === 'string')
    return areTexts && Number.isSafeInteger(calls) && (calls as number) > 0
  })
}

function isMs(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= DATE_MS_MAX
}

function isHeader(value: unknown): value is HeaderLine {
  if (!isRecord(value) || value.journal !== 1) return false
  const { network, payTo, asset, endpoints, next, openedMs } = value
  return (
    isNetworkKey(network) &&
    [payTo, asset].every(text => typeof text === 'string') &&
    [next, openedMs].every(number => number === undefined || Number.isSafeInteger(number)) &&
    (endpoints === undefined ||
      (Array.isArray(endpoints) && endpoints.every(name => typeof name === 'string')))
  )
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
