/**
 * `node:fs/promises`, as far as a journal asks for it, in the simulation's time: real files, whose appends take a while and may find the
 * disk full. A process that dies meanwhile leaves half of what it wrote.
 */
import {
  closeSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** A folder of one process. */
export interface Disk {
  /** Throws where the process has died. */
  alive(): void
  /** Writes an append in two parts. Rejects where the process dies between them, or the disk is full. */
  append(write: (part: 'first' | 'second') => void): Promise<void>
}

/** By their folders. All other files have no faults. */
export const disks = new Map<string, Disk>()

export async function open(path: string, flags = 'r', mode?: number) {
  const disk = disks.get(dirname(path))
  disk?.alive()
  const fd = openSync(path, flags, mode)
  return {
    async appendFile(bytes: Buffer): Promise<void> {
      const half = bytes.length >> 1
      await disk!.append(part =>
        writeSync(fd, part === 'first' ? bytes.subarray(0, half) : bytes.subarray(half)),
      )
    },
    async read(buffer: Buffer, offset: number, length: number | undefined, position: number) {
      return { bytesRead: readSync(fd, buffer, offset, length ?? buffer.length, position), buffer }
    },
    stat: async () => fstatSync(fd),
    datasync: async () => {},
    close: async () => closeSync(fd),
  }
}

export async function truncate(path: string, bytes: number): Promise<void> {
  disks.get(dirname(path))?.alive()
  truncateSync(path, bytes)
}

export async function rename(from: string, to: string): Promise<void> {
  disks.get(dirname(from))?.alive()
  renameSync(from, to)
}

export async function writeFile(path: string, text: string, options: { mode: number }): Promise<void> {
  writeFileSync(path, text, options)
}
