/** A real Redis whose scripts read a time that the test sets, so that hours pass at once: the rest of them is untouched. */
import type { ChargeConnection } from '../../src/adapters/redis/charge-store.js'
import type { Connection } from '../../src/adapters/redis/connection.js'

const ASKED = "redis.call('TIME')"
const TOLD = "{ redis.call('GET', 'virtual:now') / 1000, 0 }"

export function underVirtualTime(connection: Connection): ChargeConnection {
  return {
    ...connection,
    script(name, lua) {
      if (lua.split(ASKED).length !== 2) throw new Error(`${name} does not ask for the time once`)
      return connection.script(`${name}AtVirtualTime`, lua.replace(ASKED, TOLD))
    },
  }
}

/** Redis counts lives in real time: what has passed is taken off each. */
const TURN = /* lua */ `
redis.call('SET', 'virtual:now', ARGV[1])
for _, key in ipairs(redis.call('KEYS', ARGV[3])) do
  redis.call('PEXPIRE', key, redis.call('PTTL', key) - ARGV[2])
end
`

export async function turn({ client }: Connection, prefix: string, nowMs: number, passedMs: number) {
  await client.eval(TURN, 0, nowMs, passedMs, `${prefix}*`)
}

export interface Stored {
  readonly fields: Readonly<Record<string, string>>
  readonly leftMs: number
}

/** What is stored, by key; each string with a byte in each character. */
export async function storedIn({ client }: Connection, prefix: string): Promise<Map<string, Stored>> {
  const stored = new Map<string, Stored>()
  for (const key of await client.keys(`${prefix}*`)) {
    const fields = Object.entries(await client.hgetallBuffer(key))
    const text = fields.map(([name, value]) => [name, value.toString('latin1')] as const)
    stored.set(key, { fields: Object.fromEntries(text), leftMs: await client.pttl(key) })
  }
  return stored
}
