/** Each move is one script: atomic, one round trip, on the server's clock. Redis must keep acknowledged writes: docs/storage.md. */
import { bufferOf } from '../../domain/bytes.js'
import { wholeUnits } from '../../domain/charge-store/balance-units.js'
import type * as moves from '../../ports/charge-store.js'
import type { Connection, ScriptArgument } from './connection.js'
import { claimKey, keptKey, payerPlace, paymentKey, reservedKey, unitsKey } from './key-names.js'
import { DROP, SELL } from './lua/balance-units.js'
import { CLOSE, OPEN, RECORD, RENEW, RESOLVE } from './lua/charge-moves.js'
import { moveInTime, serverTime } from './server-time.js'

/**
 * The scripts' names for the keys: c the claim, p the presented payment, r the recorded one, n the answer's own name, k what is kept,
 * u the units of a balance, v what is reserved of them.
 */
const ROLES = ['c', 'p', 'r', 'n', 'k', 'u', 'v'] as const

/** The keys that a move is about, and a letter for each. */
interface Roles {
  readonly letters: string
  readonly keys: readonly string[]
}

/** What a move is about besides its hold. */
interface MoreRoles {
  readonly recorded?: string
  readonly answerName?: string | undefined
  /** Whether it may keep an answer. */
  readonly keeps?: boolean
}

/** The part of a connection that the store uses. */
export type ChargeConnection = Pick<Connection, 'commandTimeoutMs' | 'onUp' | 'script' | 'send'>

export function redisChargeStore(
  connection: ChargeConnection,
  prefix: string,
  time = serverTime(connection),
  /** The connection of moves that must survive a failover before money moves. */
  replicated = connection,
): moves.UnitsChargeStore {
  const rolesOf = (hold: moves.Hold, more: MoreRoles = {}): Roles => {
    const place = payerPlace(prefix, hold.slot)
    const given = {
      c: claimKey(place, hold.claim?.name),
      p: paymentKey(place, hold.payment),
      r: paymentKey(place, more.recorded),
      n: claimKey(place, more.answerName),
      k: more.keeps ? keptKey(place) : undefined,
      u: hold.hasUnits ? unitsKey(place) : undefined,
      v: hold.hasUnits ? reservedKey(place) : undefined,
    }
    const roles = ROLES.filter(role => given[role] !== undefined)
    return { letters: roles.join(''), keys: roles.map(role => given[role]!) }
  }
  const move = (name: string, lua: string, { script: define } = connection) => {
    const script = define(name, lua)
    return ({ letters, keys }: Roles, token: string, args: readonly ScriptArgument[]) =>
      script(keys, [letters, token, ...args])
  }
  const inTime = (name: string, lua: string, on = connection) => {
    const send = move(name, lua, on)
    return (roles: Roles, token: string, args: readonly ScriptArgument[]) =>
      moveInTime(connection, time, deadlineMs => send(roles, token, [deadlineMs, ...args]))
  }
  const open = inTime('svcOpen', OPEN)
  const openReplicated = inTime('svcOpen', OPEN, replicated)
  const record = inTime('svcRecord', RECORD, replicated)
  const close = move('svcClose', CLOSE)
  const closeReplicated = move('svcClose', CLOSE, replicated)
  const sell = move('svcSell', SELL, replicated)
  const drop = move('svcDrop', DROP)
  const balance = (slot: string) => rolesOf({ slot, token: '', hasUnits: true })
  const renew = move('svcRenew', RENEW)
  const resolve = inTime('svcResolve', RESOLVE)

  async function openBy(send: typeof open, hold: moves.OpenMove): Promise<moves.Opened> {
    const { isBearer, caller = '', claim, leaseMs, take, token } = hold
    const roles = rolesOf(hold, { answerName: isBearer ? undefined : hold.answerName })
    const bearing = [isBearer ? 1 : 0, caller]
    const reply = await send(roles, token, [claim?.bodyHash ?? '', leaseMs, ...bearing, textOf(take)])
    return readOpened(reply as Reply)
  }

  async function closeBy(hold: moves.CloseMove): Promise<moves.UnitsCounted> {
    const answer = hold.answer ? [bufferOf(hold.answer)] : []
    const { answerName, charge, how, token, retentionMs } = hold
    const roles = rolesOf(hold, { answerName, keeps: hold.claim !== undefined && how !== 'release' })
    const send = charge === undefined ? close : closeReplicated
    const reply = await send(roles, token, [how, retentionMs, textOf(charge), ...answer])
    const [said, unused] = reply as readonly [Buffer, number?]
    const verdict = String(said) as moves.UnitsCounted['verdict']
    return unused === undefined ? { verdict } : { verdict, unused }
  }

  return {
    async open(hold) {
      // A balance is kept here alone, so a refusal, a failure or a replay that a failover forgets would be a false word about money.
      if (hold.hasUnits) return openBy(openReplicated, hold)
      const opened = await openBy(open, hold)
      // The call that recorded the payment, which its successor may settle, may have died while it waited.
      return opened.verdict === 'orphaned' && replicated !== connection
        ? openBy(openReplicated, hold)
        : opened
    },

    async record(hold) {
      const { answer, payment } = hold.recorded
      const rounds = payment ? [payment.txId, String(payment.firstValid), String(payment.lastValid)] : []
      const lives = [hold.leaseMs, hold.claimTtlMs, hold.paymentTtlMs]
      const reply = await record(rolesOf(hold), hold.token, [...lives, bufferOf(answer), ...rounds])
      return String(reply) as 'recorded' | 'superseded'
    },

    /** Sends all at once. On a cluster the payers' keys are on several nodes, so one script cannot reach them all. */
    async renew(holds, leaseMs) {
      const replies = holds.map(hold => renew(rolesOf(hold), hold.token, [leaseMs]))
      return (await Promise.all(replies)).map(reply => reply === 1)
    },

    close: async hold => (await closeBy(hold)).verdict,
    count: closeBy,

    async resolve(hold) {
      const roles = rolesOf(hold, { recorded: hold.txId, keeps: true })
      const { verdict, txId, retentionMs, leaseMs } = hold
      return String(await resolve(roles, hold.token, [verdict, txId, retentionMs, leaseMs])) as moves.Resolved
    },

    async sell({ slot, units, expiresAtMs }) {
      await sell(balance(slot), '', [wholeUnits(units), Math.ceil(expiresAtMs)])
    },

    async drop(slot) {
      await drop(balance(slot), '', [])
    },

    now: time.now,
  }
}

const textOf = (units: number | undefined) => (units === undefined ? '' : wholeUnits(units))

type Reply = readonly (Buffer | number | null)[]

function readOpened([verdict, ...rest]: Reply): moves.Opened {
  const name = String(verdict) as moves.Opened['verdict']
  switch (name) {
    case 'replayable':
      return { verdict: name, answer: rest[0] as Buffer }
    case 'orphaned':
      return { verdict: name, recorded: readRecorded(rest) }
    case 'notKept':
      return rest[0] ? { verdict: name, txId: String(rest[0]) } : { verdict: name }
    case 'opened':
      return rest.length === 0 ? { verdict: name } : { verdict: name, units: readTaken(rest) }
    case 'inProgress':
    case 'inUse':
      return { verdict: name, retryAfterMs: Number(rest[0]) }
    default:
      return { verdict: name }
  }
}

function readTaken([said, unused, free]: Reply): moves.UnitsTaken {
  const verdict = String(said) as moves.UnitsTaken['verdict']
  if (verdict === 'none') return { verdict }
  const left = { unused: Number(unused), free: Number(free) }
  return verdict === 'short' ? { verdict, ...left } : { verdict, unused: left.unused }
}

function readRecorded([answer, txId, firstValid, lastValid]: Reply): moves.Recorded {
  const recorded = { answer: (answer as Buffer | null) ?? new Uint8Array() }
  if (!txId || !firstValid || !lastValid) return recorded
  const [first, last] = [BigInt(String(firstValid)), BigInt(String(lastValid))]
  return { ...recorded, payment: { txId: String(txId), firstValid: first, lastValid: last } }
}
