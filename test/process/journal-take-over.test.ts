/** Three processes find a journal's lock left behind: whatever the order of their steps, one of them writes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { lockJournal } from '../../src/audit/journal/journal-lock.js'
import { systemClock } from '../../src/ports/clock.js'

const around: { rename?: ((rename: () => void) => void) | undefined } = {}

vi.mock('node:fs', async original => {
  const fs = await original<typeof import('node:fs')>()
  const renameSync: typeof fs.renameSync = (from, to) => {
    const { rename = each => each() } = around
    around.rename = undefined
    rename(() => fs.renameSync(from, to))
  }
  return { ...fs, renameSync }
})

async function killedHolder(path: string): Promise<void> {
  const module = new URL('../../dist/src/audit/journal/journal-lock.js', import.meta.url).href
  const clock = '{ now: Date.now, monotonic: () => 0, after: () => () => {} }'
  const script = `
    const { lockJournal } = await import(process.argv[1])
    lockJournal(process.argv[2], ${clock})
    console.log('held')
    setInterval(() => {}, 1_000)
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, module, path])
  await once(child.stdout, 'data')
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

it('one that is about to take the lock over finds that another has, and puts nobody in its place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-lock-'))
  const path = join(folder, 'runs.jsonl')
  await killedHolder(path)
  const held: { name: string; lock: ReturnType<typeof lockJournal> }[] = []
  const taken = (name: string) => {
    try {
      held.push({ name, lock: lockJournal(path, systemClock) })
    } catch (cause) {
      expect(cause).toMatchObject({ code: 'journal_locked' })
    }
  }
  around.rename = rename => {
    taken('fast')
    try {
      rename()
    } finally {
      taken('late')
    }
  }
  taken('slow')
  expect(held.map(({ name }) => name)).toEqual(['fast'])
  expect(held[0]!.lock.keep()).toBe('held')
  held[0]!.lock.release()
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true })
})
