import { chmod, readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SvcError } from '../../src/domain/errors.js'
import type { NetworkDefinition } from '../../src/domain/network.js'
import { isRecord } from '../../src/domain/x402.js'

/**
 * Writes the definition where it is not written yet: an agent that `svc dev` runs starts anew when a JSON file beside it changes.
 * The file is for its owner alone, because it has the token of the node.
 *
 * @returns the absolute path
 * @throws SvcError `file_exists`
 */
export async function writeDefinition(out: string, definition: NetworkDefinition): Promise<string> {
  const path = resolve(out)
  const text = `${JSON.stringify(definition, undefined, 2)}\n`
  const before = await readFile(path, 'utf8').catch(() => undefined)
  if (before === text) return path
  if (before !== undefined && !isOurs(before))
    throw new SvcError(`${path} exists, and does not define localnet: name another file`, 'file_exists')
  await writeFile(path, text, { mode: 0o600 })
  // A file that was there keeps its mode.
  await chmod(path, 0o600)
  return path
}

function isOurs(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) && value.name === 'localnet' && 'genesisHash' in value
  } catch {
    return false
  }
}
