/** The balances of this user, in a file that only the user can read. Each run of a command is a process, and may name it by a link. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileBehind, lockJournal } from '../src/audit/journal/journal-lock.js'
import type { BalancesChange, SpendLedger } from '../src/client.js'
import { SvcError } from '../src/domain/index.js'

/** Together longer than a lock that was left behind lasts. */
const LOCK_TRIES = 300
const LOCK_PAUSE_MS = 20

export function balanceFile(spend: SpendLedger): SpendLedger {
  const path = fileBehind(process.env.SVC_BALANCES || join(homedir(), '.svc', 'balances.json'))
  return Object.assign(spend, {
    async balances(change?: BalancesChange): Promise<string> {
      try {
        return change === undefined ? textOf(path) : await changed(path, change)
      } catch (cause) {
        throw new SvcError(`${path} cannot be used: ${(cause as Error).message}`, 'balance_file_unusable')
      }
    },
  })
}

async function changed(path: string, { before, after }: BalancesChange): Promise<string> {
  const unlock = await locked(path)
  try {
    if (textOf(path) === before) {
      // Another process that reads sees the one text or the other, also after a power cut: keys are money.
      writeFileSync(`${path}.new`, after, { mode: 0o600, flush: true })
      renameSync(`${path}.new`, path)
    }
    return textOf(path)
  } finally {
    unlock()
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (/^ENO(ENT|TDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}

/** Another command holds it for a moment. One that was killed then has left it behind: it is taken over. */
async function locked(path: string): Promise<() => void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  for (let tries = 1; ; tries++) {
    try {
      return lockJournal(path).release
    } catch (error) {
      if ((error as SvcError).code !== 'journal_locked') throw error
      if (tries === LOCK_TRIES) throw new Error(`another process holds ${path}.lock`)
      await sleep(LOCK_PAUSE_MS)
    }
  }
}
