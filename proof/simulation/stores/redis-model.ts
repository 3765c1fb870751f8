/**
 * A Redis in memory, on a simulated clock, for the charge store's scripts alone: the real adapter runs over it as over a
 * connection. A test replays the same histories on it and on a real Redis. Keys expire as there; no command fails, is
 * slow, or is lost: whoever simulates that wraps `script` and `send`.
 */
import type { ChargeConnection } from '../../../src/adapters/redis/charge-store.js'
import type { RedisClient } from '../../../src/adapters/redis/connection.js'
import { close } from './redis-moves/close.js'
import { open } from './redis-moves/open.js'
import { Records } from './redis-moves/prelude.js'
import { record } from './redis-moves/record.js'
import { renew } from './redis-moves/renew.js'
import { resolve } from './redis-moves/resolve.js'
import { type StoredHash, StoredHashes } from './stored-hashes.js'

export interface RedisModelOptions {
  /** The server's time of day. */
  readonly nowMs: () => number
  /** What the adapter takes its deadlines from. @default 2000 */
  readonly commandTimeoutMs?: number
}

export interface RedisModel extends ChargeConnection {
  /** What is stored now, by key. */
  stored(): ReadonlyMap<string, StoredHash>
}

/** What a script gives back, as Lua has it: a string holds a byte in each character, `null` is `false`. */
export type Reply = string | number | null | readonly Reply[]

export type Move = (records: Records, argv: readonly string[]) => Reply

const MOVES: Readonly<Record<string, Move>> = {
  svcOpen: open,
  svcRecord: record,
  svcRenew: renew,
  svcClose: close,
  svcResolve: resolve,
}

export function redisModel({ nowMs, commandTimeoutMs = 2_000 }: RedisModelOptions): RedisModel {
  const serverMs = () => Math.floor(nowMs())
  const hashes = new StoredHashes(serverMs)
  // The only command that is sent beside the scripts.
  const client = { time: async () => [Math.floor(serverMs() / 1_000), (serverMs() % 1_000) * 1_000] }
  return {
    commandTimeoutMs,
    send: async command => command(client as unknown as RedisClient),
    script(name) {
      const move = MOVES[name]
      if (!move) throw new Error(`the model of Redis does not know the script ${name}`)
      return async (keys, args) => {
        const argv = args.map(bytesOf)
        return toClient(move(new Records(hashes, serverMs(), keys.map(bytesOf), argv), argv))
      }
    },
    onUp: listener => listener(),
    stored: () => hashes.all(),
  }
}

function bytesOf(argument: string | number | Buffer): string {
  return Buffer.isBuffer(argument)
    ? argument.toString('latin1')
    : Buffer.from(String(argument)).toString('latin1')
}

function toClient(reply: Reply): unknown {
  if (typeof reply === 'string') return Buffer.from(reply, 'latin1')
  // Redis cuts a script's number to an integer.
  if (typeof reply === 'number') return Math.trunc(reply)
  return reply === null ? null : reply.map(toClient)
}
