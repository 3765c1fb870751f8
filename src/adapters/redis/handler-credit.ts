/** A counter for each payer, shared by all processes. Promise: see the port. */
import type { CreditStore } from '../../ports/handler-credit.js'
import type { Connection } from './connection.js'
import { shortHash } from './key-names.js'

/** start, idleMs -> 1 where a run was taken. */
export const TAKE = /* lua */ `
local left = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
if left < 1 then return 0 end
redis.call('SET', KEYS[1], left - 1, 'PX', ARGV[2])
return 1
`

/** runs, max, idleMs. A payer whose counter has expired has begun anew already. */
export const GIVE = /* lua */ `
local left = tonumber(redis.call('GET', KEYS[1]))
if left then redis.call('SET', KEYS[1], math.min(left + ARGV[1], tonumber(ARGV[2])), 'PX', ARGV[3]) end
`

export function redisCredit(connection: Connection, prefix: string): CreditStore {
  const take = connection.script('svcCreditTake', TAKE)
  const give = connection.script('svcCreditGive', GIVE)
  // The name is hashed: where no payer can be read, it holds the caller's network address.
  const keyOf = (payer: string) => `${prefix}credit:${shortHash(payer)}`
  return {
    take: async (payer, { start, idleMs }) => (await take([keyOf(payer)], [start, idleMs])) === 1,
    give: async (payer, runs, { max, idleMs }) => void (await give([keyOf(payer)], [runs, max, idleMs])),
  }
}
