/** Watches what moves do to the stored records, and refuses whatever the drawings do not show. */
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import type { Connection } from '../../src/adapters/redis/connection.js'
import { claimTable } from '../../src/domain/machines/claim.machine.js'
import { paymentTable } from '../../src/domain/machines/payment.machine.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'

type Rows = Readonly<Record<string, { readonly on: Readonly<Record<string, string>> }>>

/** What one move does to a record beyond a single event: its lease turns out to be over, or it is given up and taken. */
const FIRST_OF_TWO = ['lapsed', 'dead']

/** Every transition that was seen, as `claim inProgress -> settling`. */
export type Seen = Set<string>

export function watched(store: ChargeStore, connection: Connection, prefix: string, seen: Seen): ChargeStore {
  const around =
    <Move, More extends unknown[], Answer>(move: (given: Move, ...more: More) => Promise<Answer>) =>
    async (given: Move, ...more: More): Promise<Answer> => {
      const before = await states(connection, prefix)
      const answer = await move(given, ...more)
      const after = await states(connection, prefix)
      for (const key of new Set([...before.keys(), ...after.keys()])) {
        const kind = key.includes(':claim:') ? 'claim' : 'payment'
        const [rows, initial]: [Rows, string] =
          kind === 'claim' ? [claimTable.rows, claimTable.initial] : [paymentTable.rows, paymentTable.initial]
        const [from, to] = [before.get(key) ?? initial, after.get(key) ?? initial]
        if (from === to) continue
        expect([...reachable(rows, from)], `${kind} ${from} -> ${to}`).toContain(to)
        seen.add(`${kind} ${from} -> ${to}`)
      }
      return answer
    }
  return {
    open: around(store.open),
    record: around(store.record),
    renew: around(store.renew),
    close: around(store.close),
    resolve: around(store.resolve),
  }
}

function reachable(rows: Rows, from: string): Set<string> {
  const { on } = rows[from]!
  const next = FIRST_OF_TWO.flatMap(event => (on[event] === undefined ? [] : [rows[on[event]]!.on]))
  return new Set([on, ...next].flatMap(moves => Object.values(moves)))
}

async function states(connection: Connection, prefix: string): Promise<Map<string, string>> {
  const redis = connection.client
  const keys = (await redis.keys(`${prefix}*`)).filter(key => !key.endsWith(':kept'))
  const stored = await Promise.all(keys.map(key => fieldsOf(redis as Redis, key)))
  return new Map(keys.map((key, at) => [key, String(stored[at]!.state)]))
}

const UNPACK = /* lua */ `return cmsgpack.unpack(redis.call('GET', KEYS[1]))`

/** The fields of a record, also where it is a string, as a completed claim is, or the order of what is kept. */
export async function fieldsOf(redis: Redis, key: string): Promise<Record<string, Buffer>> {
  const type = await redis.type(key)
  if (type === 'hash') return redis.hgetallBuffer(key)
  if (type === 'zset') {
    const names = await redis.zrange(key, '0', '-1')
    const scores = await Promise.all(names.map(name => redis.zscore(key, name)))
    return Object.fromEntries(names.map((name, at) => [name, Buffer.from(String(scores[at]))]))
  }
  const packed: unknown = await redis.callBuffer('EVAL', UNPACK, 1, key)
  const [token, bodyHash, isRecordedByToken, answer, txId, caller] = packed as unknown[]
  const final = { state: Buffer.from('completed'), token, bodyHash, answer, txId, caller }
  const kept = Object.entries(isRecordedByToken ? { ...final, recordedBy: token } : final)
  const isText = (entry: [string, unknown]): entry is [string, Buffer] => Buffer.isBuffer(entry[1])
  return Object.fromEntries(kept.filter(isText))
}
