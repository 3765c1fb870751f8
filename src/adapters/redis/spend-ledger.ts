/**
 * A budget that several paying processes share: the amounts that they spent in the last 24 hours, by the server's clock, and
 * the open payments. Promise: see the port.
 */
import { isNetworkKey, type NetworkKey } from '../../domain/network.js'
import { type OpenSpend, PAYMENT_LIFE_MAX_MS, type SpendLedger } from '../../ports/spend-ledger.js'
import type { Connection, ScriptArgument } from './connection.js'

/** About 60 MB. Above it the open reservations that are due first count as spent; none is dropped early. */
export const OPEN_MAX = 100_000

/** KEYS: entries, amounts, payments, and `due` of each network, named by what follows `due:`. ARGV: windowMs, lifeMs, id, and each script's own. */
export const LEDGER = /* lua */ `
local entries, amounts, payments = KEYS[1], KEYS[2], KEYS[3]
local due = {}
for at = 4, #KEYS do due[string.sub(KEYS[at], #entries - 2)] = KEYS[at] end
local windowMs, lifeMs, entry = tonumber(ARGV[1]), tonumber(ARGV[2]), 'reserved:' .. ARGV[3]
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local function sum()
  return tonumber(redis.call('HGET', amounts, 'sum') or '0')
end

local function answer(result)
  return { result, sum() }
end

local function keep()
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, windowMs + lifeMs) end
end

local function add(name, more, atMs)
  redis.call('HINCRBY', amounts, 'sum', more)
  redis.call('HINCRBY', amounts, name, more)
  local known = tonumber(redis.call('ZSCORE', entries, name) or '0')
  redis.call('ZADD', entries, math.max(known, atMs), name)
  keep()
end

local function close(name)
  redis.call('HDEL', payments, name)
  for _, queue in pairs(due) do redis.call('ZREM', queue, name) end
end

local function forget(name)
  close(name)
  local counted = redis.call('HGET', amounts, name)
  if not counted then return end
  redis.call('HINCRBY', amounts, 'sum', '-' .. counted)
  redis.call('HDEL', amounts, name)
  redis.call('ZREM', entries, name)
end

-- From landedMs on at the latest, it counts for a window. Without it, from when the payment can have landed at the latest.
local function spend(name, landedMs)
  local counted, atMs = redis.call('HGET', amounts, name), tonumber(redis.call('ZSCORE', entries, name))
  forget(name)
  atMs = math.min(atMs or nowMs, landedMs or math.huge)
  if counted then add(string.format('spent:%.0f', math.floor(atMs / 1000)), counted, atMs) end
end

for _, name in ipairs(redis.call('ZRANGEBYSCORE', entries, '-inf', nowMs - windowMs)) do forget(name) end
`

/** ARGV: amount, cap or nothing. */
export const RESERVE = /* lua */ `${LEDGER}
local amount, cap = ARGV[4], ARGV[5]
if redis.call('HEXISTS', amounts, entry) == 0 then
  if cap ~= '' and sum() + tonumber(amount) > tonumber(cap) then return answer(0) end
  add(entry, amount, nowMs)
end
return answer(1)
`

/** ARGV: network, lastValid, the payment as it is stored. */
export const ATTACH = /* lua */ `${LEDGER}
local network, lastValid, payment = ARGV[4], ARGV[5], ARGV[6]
if redis.call('HEXISTS', amounts, entry) == 0 then return answer(0) end
if redis.call('HSETNX', payments, entry, payment) == 0 then
  return answer(redis.call('HGET', payments, entry) == payment and 1 or 0)
end
redis.call('ZADD', due[network], lastValid, entry)
redis.call('ZADD', entries, nowMs + lifeMs, entry)
keep()
if redis.call('ZCARD', due[network]) > ${OPEN_MAX} then spend(redis.call('ZRANGE', due[network], 0, 0)[1]) end
return answer(1)
`

export const RELEASE = /* lua */ `${LEDGER}
if redis.call('HEXISTS', payments, entry) == 0 then forget(entry) end
return answer(1)
`

/** ARGV: network, round, max. */
export const DUE = /* lua */ `${LEDGER}
local network, round, max = ARGV[4], ARGV[5], ARGV[6]
local found = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', due[network], '-inf', '(' .. round, 'LIMIT', 0, max)) do
  local amount, payment = redis.call('HGET', amounts, name), redis.call('HGET', payments, name)
  if amount and payment then
    found[#found + 1] = { string.sub(name, 10), amount, payment }
  else
    close(name)
  end
end
return answer(found)
`

/** ARGV: round. */
export const POSTPONE = /* lua */ `${LEDGER}
for _, queue in pairs(due) do
  local known = redis.call('ZSCORE', queue, entry)
  if known and tonumber(known) < tonumber(ARGV[4]) then redis.call('ZADD', queue, ARGV[4], entry) end
end
return answer(1)
`

/** ARGV: `spent`, `claimed` or `dead`. */
export const SETTLE = /* lua */ `${LEDGER}
if redis.call('HEXISTS', payments, entry) == 0 then return answer(0) end
if ARGV[4] == 'dead' then forget(entry) else spend(entry, ARGV[4] == 'spent' and nowMs or nil) end
return answer(1)
`

/** KEYS: the text. ARGV: nothing, or what it was and what it becomes. */
export const BALANCES = /* lua */ `
local text = redis.call('GET', KEYS[1]) or ''
if text ~= ARGV[1] then return text end
redis.call('SET', KEYS[1], ARGV[2])
return ARGV[2]
`

const DAY_MS = 86_400_000

/** Lua counts in doubles, which are exact up to here: nine billion USDC. */
const EXACT_MAX = BigInt(Number.MAX_SAFE_INTEGER)

export interface RedisSpendOptions {
  /** The budget's name. Payers that use the same name share the budget. */
  readonly budget: string
  /** The length of the port's 24 hours; shorter in tests that cannot wait. @default 86400000 */
  readonly windowMs?: number
  /** How long a payment can land; shorter in tests. @default PAYMENT_LIFE_MAX_MS */
  readonly lifeMs?: number
}

export function redisSpendLedger(
  connection: Connection,
  prefix: string,
  { budget, windowMs = DAY_MS, lifeMs = PAYMENT_LIFE_MAX_MS }: RedisSpendOptions,
  /** The connection of moves that must survive a failover before a payment is sent. */
  replicated: Pick<Connection, 'script'> = connection,
): SpendLedger {
  const place = `${prefix}{spend:${encodeURIComponent(budget)}}`
  // The public networks' are always there; any other's from its first payment or question.
  const keys = ['entries', 'amounts', 'payments', 'due:mainnet', 'due:testnet'].map(
    name => `${place}:${name}`,
  )
  const knowing = (network: NetworkKey): NetworkKey => {
    const due = `${place}:due:${network}`
    if (!keys.includes(due)) keys.push(due)
    return network
  }
  let sum = 0n
  /** Each script returns its result and the sum. */
  const move = (name: string, lua: string, { script: define }: Pick<Connection, 'script'> = connection) => {
    const script = define(name, lua)
    return async (id: string, ...more: ScriptArgument[]): Promise<unknown> => {
      const [result, sumNow] = (await script(keys, [windowMs, lifeMs, id, ...more])) as [unknown, number]
      sum = BigInt(sumNow)
      return result
    }
  }
  const reserve = move('svcSpendReserve', RESERVE)
  const attach = move('svcSpendAttach', ATTACH, replicated)
  const release = move('svcSpendRelease', RELEASE)
  const due = move('svcSpendDue', DUE)
  const postpone = move('svcSpendPostpone', POSTPONE)
  const settle = move('svcSpendSettle', SETTLE)
  const balances = replicated.script('svcSpendBalances', BALANCES)
  return {
    async reserve({ id, amount }, cap) {
      if (amount > EXACT_MAX)
        throw new RangeError(`an amount of ${amount} base units cannot be counted exactly`)
      const bound = cap === undefined ? '' : String(cap < EXACT_MAX ? cap : EXACT_MAX)
      return (await reserve(id, String(amount), bound)) === 1
    },
    async attach(id, { network, txId, firstValid, lastValid }) {
      const rounds = `${firstValid} ${lastValid}`
      return (await attach(id, knowing(network), String(lastValid), `${network} ${txId} ${rounds}`)) === 1
    },
    release: async id => void (await release(id)),
    async due(network, round, max) {
      const rows = (await due('', knowing(network), String(round), max)) as Buffer[][]
      return rows.flatMap(row => openSpendIn(row.map(String), network) ?? [])
    },
    postpone: async (id, round) => void (await postpone(id, String(round))),
    settle: async (id, end) => void (await settle(id, end)),
    balances: async change =>
      String(await balances([`${place}:balances`], change ? [change.before, change.after] : [])),
    get spentBaseUnits() {
      return sum
    },
  }
}

const PAYMENT = /^(\S{1,64}) ([A-Z2-7]{52}) (\d{1,20}) (\d{1,20})$/

/** Stored rows are foreign input. A row that is malformed stays counted, and the chain is not asked about it. */
function openSpendIn([id, amount, payment]: readonly string[], network: NetworkKey): OpenSpend | undefined {
  const [, of, txId, firstValid, lastValid] = PAYMENT.exec(payment ?? '') ?? []
  if (!id || !/^\d{1,16}$/.test(amount ?? '') || !txId || of !== network || !isNetworkKey(of))
    return undefined
  const rounds = { firstValid: BigInt(firstValid!), lastValid: BigInt(lastValid!) }
  return { id, amount: BigInt(amount!), payment: { network, txId, ...rounds } }
}
