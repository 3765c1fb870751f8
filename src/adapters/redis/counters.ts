/** Counts as numbers that expire, shared by all processes. Promise: see the port. */
import type { Counted, Counters, CounterTerms } from '../../ports/counters.js'
import type { Connection } from './connection.js'

/** Only what has to begin a period names its length: without `PX`, the count keeps the time that it has. */
const CHANGE = /* lua */ `
local function change(count, beginsPeriod)
  if beginsPeriod then return redis.call('SET', KEYS[1], count, 'PX', ARGV[1]) end
  redis.call('SET', KEYS[1], count, 'KEEPTTL')
end
local isRenewed = ARGV[2] == '1'
local known = tonumber(redis.call('GET', KEYS[1]))
`

/** periodMs, isRenewed, max, 1 or 0 more -> how long the period lasts, where `max` are counted */
export const TAKE = /* lua */ `${CHANGE}
local count = known or 0
if count >= tonumber(ARGV[3]) then return redis.call('PTTL', KEYS[1]) end
if ARGV[4] == '1' then change(count + 1, isRenewed or not known) end
`

/** periodMs, isRenewed, floor, count */
export const GIVE_BACK = /* lua */ `${CHANGE}
if known then change(math.max(known - ARGV[4], tonumber(ARGV[3])), isRenewed) end
`

/** `keyOf` makes the name in Redis of a counter's key. */
export function redisCounters(connection: Connection, keyOf: (key: string) => string): Counters {
  const take = connection.script('svcCount', TAKE)
  const giveBack = connection.script('svcCountBack', GIVE_BACK)
  const periodOf = ({ periodMs, isRenewed }: CounterTerms) => [periodMs, isRenewed ? 1 : 0]
  const verdict = async (key: string, terms: CounterTerms, more: 0 | 1): Promise<Counted> => {
    const leftMs = (await take([keyOf(key)], [...periodOf(terms), terms.max, more])) as number | null
    return leftMs === null ? { admitted: true } : { admitted: false, retryAfterMs: Math.max(1, leftMs) }
  }
  return {
    take: (key, terms) => verdict(key, terms, 1),
    peek: (key, terms) => verdict(key, terms, 0),
    async giveBack(key, count, terms) {
      await giveBack([keyOf(key)], [...periodOf(terms), terms.floor, count])
    },
  }
}
