/** The balances of this user, in a file that only the user can read. Each run of a command is a process, and may name it by a link. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileBehind } from '../src/audit/journal/append-to-files.js'
import type { SpendLedger } from '../src/client.js'
import { SvcError } from '../src/domain/index.js'

const LOCK_TRIES = 100
const LOCK_PAUSE_MS = 20

export function balanceFile(spend: SpendLedger): SpendLedger {
  const path = fileBehind(process.env.SVC_BALANCES || join(homedir(), '.svc', 'balances.json'))
  return Object.assign(spend, {
    async balances(change?: { readonly before: string; readonly after: string }): Promise<string> {
      if (change === undefined) return textOf(path)
      const unlock = await locked(path)
      try {
        if (textOf(path) === change.before) replace(path, change.after)
        return textOf(path)
      } finally {
        unlock()
      }
    },
  })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (/^ENO(ENT|TDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw unusable(path, error)
  }
}

/** Another process that reads sees the one text or the other. */
function replace(path: string, text: string): void {
  try {
    writeFileSync(`${path}.new`, text, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  } catch (error) {
    throw unusable(path, error)
  }
}

async function locked(path: string): Promise<() => void> {
  const lock = `${path}.lock`
  for (let tries = 1; ; tries++) {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(lock, '', { flag: 'wx' })
      return () => rmSync(lock, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(path, error)
      if (tries === LOCK_TRIES)
        throw unusable(path, new Error(`another process holds ${lock}; if none runs, delete it`))
      await sleep(LOCK_PAUSE_MS)
    }
  }
}

function unusable(path: string, cause: unknown): SvcError {
  return new SvcError(`${path} cannot be used: ${(cause as Error).message}`, 'balance_file_unusable')
}
