/** What the agent's stores hold in memory outlives a restart. An agent that is killed gives nothing: the next gets the same again. */
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'

/** What a store publishes of itself when it is made. */
type MadeStore = { readonly name: string; records(): unknown; restore(records: unknown): void }

export const MEMORY_FD = 5

export function keepMemory(): void {
  const given = readFileSync(MEMORY_FD)
  const kept = new Map<string, unknown>(given.length > 0 ? deserialize(given) : [])
  const stores = new Map<string, MadeStore>()
  subscribe('svc.memory.made', message => {
    const store = message as MadeStore
    let number = 0
    while (stores.has(`${store.name} ${number}`)) number++
    const name = `${store.name} ${number}`
    stores.set(name, store)
    if (kept.has(name)) store.restore(kept.get(name))
  })
  process.on('exit', () => {
    // Also what no store has asked for: the program may have ended before.
    for (const [name, store] of stores) kept.set(name, store.records())
    try {
      writeFileSync(MEMORY_FD, serialize(kept))
    } catch {
      // `svc dev` has ended.
    }
  })
  // A program that handles no SIGTERM would end without this event.
  process.on('SIGTERM', () => {
    if (process.listenerCount('SIGTERM') === 1) process.exit()
  })
}
