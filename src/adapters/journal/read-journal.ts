/** Reads journals of any length, a piece at a time: what has been read is forgotten. */
import { createReadStream } from 'node:fs'
import { isNetwork } from '../../domain/network.js'
import { isRecord } from '../../domain/x402.js'
import type { Books } from '../../ports/books.js'
import type { EndedCall } from '../../ports/witness.js'
import { journalFiles } from './journal-file.js'

/** What some consecutive lines said. */
export interface JournalPiece {
  readonly books: readonly Books[]
  readonly runs: readonly EndedCall[]
  /** Calls that the journal itself says it could not keep. */
  readonly lost: number
  /** Lines that are none, such as the half of one that a killed process leaves. */
  readonly unreadable: number
}

const CHUNK_BYTES = 1024 * 1024

/** The file, and before it those that were set aside. */
export async function* readJournal(path: string): AsyncGenerator<JournalPiece> {
  for (const file of await journalFiles(path)) {
    yield* readPieces(createReadStream(file, { highWaterMark: CHUNK_BYTES }))
  }
}

export async function* readPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<JournalPiece> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(0x0a) + 1
    rest = bytes.subarray(end)
    if (end > 0) yield pieceOf(bytes.toString('utf8', 0, end))
  }
  if (rest.length > 0) yield pieceOf(rest.toString('utf8'))
}

export function pieceOf(text: string): JournalPiece {
  const books: Books[] = []
  const runs: EndedCall[] = []
  let lost = 0
  let unreadable = 0
  for (const line of text.split('\n')) {
    if (line === '') continue
    const value = parsed(line)
    if (isRun(value)) runs.push(value)
    else if (isBooks(value)) books.push(value)
    else if (isRecord(value) && Number.isSafeInteger(value.lost)) lost += value.lost as number
    else unreadable++
  }
  return { books, runs, lost, unreadable }
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
  const { id, endpoint, final, path, charged, startedMs, ms, txId, amount } = value
  return (
    [id, endpoint, final, charged].every(text => typeof text === 'string') &&
    [startedMs, ms].every(number => typeof number === 'number') &&
    Array.isArray(path) &&
    (txId === undefined || typeof txId === 'string') &&
    (amount === undefined || (typeof amount === 'string' && /^\d{1,20}$/.test(amount)))
  )
}

function isBooks(value: unknown): value is Books {
  if (!isRecord(value) || value.journal !== 1) return false
  return isNetwork(value.network) && [value.payTo, value.asset].every(text => typeof text === 'string')
}
