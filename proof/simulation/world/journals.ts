/** The journal of each of the seller's processes: real lines in real files, which are set aside, and on disks that may be full. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { USDC_ASSET_ID } from '../../../src/client.js'
import type { CallObserver, EndedCall } from '../../../src/index.js'
import { type JournalPiece, journal, openJournals } from '../../../src/simulation-parts.js'
import { disks } from '../kernel/disk.js'
import type { Process } from '../kernel/process.js'
import { keyOf } from './accounts.js'
import { ENDPOINTS } from './agents.js'
import type { World } from './world.js'

const APPEND_MS = 4
/** An episode sets some files aside, of an eighth of it, and deletes none. */
const BYTES_MAX = 200_000

const HEADER = {
  journal: 1,
  agent: 'simulated',
  network: 'testnet',
  payTo: keyOf('seller').address,
  asset: String(USDC_ASSET_ID.testnet),
  endpoints: ENDPOINTS,
} as const

export type OwnJournal = ReturnType<Journals['open']>

interface Told {
  readonly atMs: number
  readonly process: Process
}

export class Journals {
  readonly #world: World
  readonly #root = mkdtempSync(join(tmpdir(), 'simulated-journals-'))
  readonly #paths = new Set<string>()
  readonly #told = new Map<string, Told>()
  /** When each process last began to append what it then wrote. */
  readonly #wroteMs = new Map<Process, number>()

  constructor(world: World) {
    this.#world = world
  }

  /** Of a process that begins in this place, where another one may have ended. */
  open(process: Process, place: string): CallObserver & { close(): Promise<void> } {
    const { timeline, logger } = this.#world
    const folder = join(this.#root, place)
    const path = join(folder, 'runs.jsonl')
    mkdirSync(folder, { recursive: true })
    this.#paths.add(path)
    disks.set(folder, this.#diskOf(process))
    const { clock } = process
    // The process before it has ended, also while it was closing. Its lock names this very process of the machine, which lives.
    rmSync(`${path}.lock`, { recursive: true, force: true })
    const file = journal({ path, bytesMax: BYTES_MAX, header: HEADER, logger, clock })
    let closed: Promise<void> | undefined
    const close = () => {
      closed ??= file.close()
      return closed
    }
    // It can write no more: its file is closed.
    process.onDeath(() => void close())
    const told = (line: string) => this.#told.set(line, { atMs: timeline.nowMs, process })
    return {
      ended(call) {
        told(call.id)
        file.ended(call)
      },
      streaming(call) {
        told(streamOf(call))
        file.streaming(call)
      },
      close,
    }
  }

  #diskOf(process: Process) {
    const { fate, timeline, conditions } = this.#world
    const alive = () => {
      if (!process.isAlive) throw new Error(`${process.name} is dead`)
    }
    return {
      alive,
      append: async (write: (part: 'first' | 'second') => void) => {
        const { nowMs } = timeline
        write('first')
        await new Promise<void>(resolve => void timeline.after(APPEND_MS, resolve))
        alive()
        if (fate.strike(fate.numbered(`${process.name}.disk`), conditions.fullDisk, timeline.nowMs))
          throw new Error('no space left on device')
        write('second')
        this.#wroteMs.set(process, nowMs)
      },
    }
  }

  /** Whether a call, or the beginning of its stream, may have no line: its process died before it wrote again. */
  mayLack(line: string): boolean {
    const told = this.#told.get(line)
    if (!told) return true
    return !told.process.isAlive && (this.#wroteMs.get(told.process) ?? -1) <= told.atMs
  }

  async read(): Promise<JournalPiece[]> {
    const opened = await openJournals([...this.#paths])
    const pieces: JournalPiece[] = []
    for await (const piece of opened.pieces()) pieces.push(piece)
    await opened.close()
    return pieces
  }

  clear(): void {
    disks.clear()
    rmSync(this.#root, { recursive: true, force: true })
  }
}

/** The name of the line that is written before a stream leaves. */
export function streamOf({ id }: Pick<EndedCall, 'id'>): string {
  return `${id} stream`
}
