/**
 * A budget that several paying processes share: the amounts that they spent in the last 24 hours, by the server's clock, and
 * the open payments. Promise: see the port.
 */
import { isNetworkKey, type NetworkKey } from '../../domain/network.js'
import { type OpenSpend, PAYMENT_LIFE_MAX_MS, type SpendLedger } from '../../ports/spend-ledger.js'
import type { Connection, ScriptArgument } from './connection.js'
import { ATTACH, BALANCES, DUE, POSTPONE, RELEASE, RESERVE, SETTLE } from './lua/spend-ledger.js'

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
