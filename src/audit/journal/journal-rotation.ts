/** `runs.jsonl`, and before it `runs.000007.jsonl` and so on. `runs.jsonl.audited` says up to when an audit has read them. */
import { readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'

/** A journal names payers, so only its owner may read it. */
export const OWNER_ONLY = 0o600

export interface OlderFile {
  readonly path: string
  readonly bytes: number
  /** `svc audit` has read all of it. */
  readonly isAudited: boolean
}

/** Renames `runs.jsonl` to `runs.000007.jsonl`, one number higher than the last. */
export async function rotate(path: string): Promise<void> {
  const last = olderNumbers(path).at(-1) ?? 0
  await rename(path, numbered(path, last + 1))
}

/** The last file stays: it has the number of the next line. */
export function dropOldest(
  path: string,
  bytesMax: number,
): { readonly dropped: readonly OlderFile[]; readonly kept: readonly OlderFile[] } {
  const auditedMs = auditedUntilMs(path)
  const kept = olderFiles(path).map(older => {
    const { size: bytes, mtimeMs } = statSync(older)
    return { path: older, bytes, isAudited: mtimeMs <= auditedMs }
  })
  const dropped: OlderFile[] = []
  while (kept.length > 1 && sumOf(kept) > bytesMax) {
    unlinkSync(kept[0]!.path)
    dropped.push(kept.shift()!)
  }
  return { dropped, kept }
}

export function sumOf(files: readonly OlderFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

export function olderFiles(path: string): readonly string[] {
  return olderNumbers(path).map(number => numbered(path, number))
}

/** The journal that a file belongs to: `runs.jsonl` for `runs.000007.jsonl`. */
export function journalOf(path: string): string {
  return path.replace(/\.\d{6}(\.[^./\\]*)?$/, '$1')
}

/** Up to when the journal was audited without a gap; before everything where it never was. */
export function auditedUntilMs(path: string): number {
  try {
    return Date.parse(readFileSync(`${path}.audited`, 'utf8').trim()) || Number.NEGATIVE_INFINITY
  } catch {
    return Number.NEGATIVE_INFINITY
  }
}

export async function markAudited(path: string, untilMs: number): Promise<void> {
  if (untilMs <= auditedUntilMs(path)) return
  await writeFile(`${path}.audited`, `${new Date(untilMs).toISOString()}\n`, { mode: OWNER_ONLY })
}

function olderNumbers(path: string): number[] {
  const [folder, extension] = [dirname(path), extname(path)]
  const stem = `${basename(path, extension)}.`
  return readdirSync(folder)
    .filter(name => name.startsWith(stem) && name.endsWith(extension))
    .map(name => name.slice(stem.length, name.length - extension.length))
    .filter(number => /^\d{6}$/.test(number))
    .map(Number)
    .sort((a, b) => a - b)
}

function numbered(path: string, number: number): string {
  const extension = extname(path)
  const stem = basename(path, extension)
  return join(dirname(path), `${stem}.${String(number).padStart(6, '0')}${extension}`)
}
