/**
 * Claims and payments as hashes. Each move is one script: atomic, one round trip, on the server's clock. Promise: see the
 * port. Redis must keep acknowledged writes (`noeviction`, an append-only file): see docs/storage.md.
 */
import { wholeUnits } from '../../domain/charge-store/units.js'
import type {
  CloseMove,
  Hold,
  Opened,
  OpenMove,
  Recorded,
  Resolved,
  UnitsChargeStore,
  UnitsCounted,
  UnitsLeft,
  UnitsTaken,
} from '../../ports/charge-store.js'
import type { Connection, ScriptArgument } from './connection.js'
import { claimKey, keptKey, payerPlace, paymentKey, reservedKey, unitsKey } from './key-names.js'
import { CLOSE, OPEN, RECORD, RENEW, RESOLVE } from './lua/charge-moves.js'
import { DROP, LOOK, SELL } from './lua/units.js'
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
): UnitsChargeStore {
  const rolesOf = (hold: Hold, more: MoreRoles = {}): Roles => {
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
  const look = move('svcLook', LOOK)
  const drop = move('svcDrop', DROP)
  const balance = (slot: string) => rolesOf({ slot, token: '', hasUnits: true })
  const renew = move('svcRenew', RENEW)
  const resolve = inTime('svcResolve', RESOLVE)

  async function openBy(send: typeof open, hold: OpenMove): Promise<Opened> {
    const { isBearer, caller = '', claim, leaseMs, take, token } = hold
    const roles = rolesOf(hold, { answerName: isBearer ? undefined : hold.answerName })
    const reply = await send(roles, token, [
      claim?.bodyHash ?? '',
      leaseMs,
      isBearer ? 1 : 0,
      caller,
      textOf(take),
    ])
    return readOpened(reply as readonly (Buffer | number | null)[])
  }

  async function closeBy(hold: CloseMove): Promise<UnitsCounted> {
    const answer = hold.answer ? [bytesOf(hold.answer)] : []
    const { answerName, charge, how, token, retentionMs } = hold
    const roles = rolesOf(hold, { answerName, keeps: hold.claim !== undefined && how !== 'release' })
    const send = charge === undefined ? close : closeReplicated
    const reply = await send(roles, token, [how, retentionMs, textOf(charge), ...answer])
    const [said, unused] = reply as readonly [Buffer, number?]
    const verdict = String(said) as UnitsCounted['verdict']
    return unused === undefined ? { verdict } : { verdict, unused }
  }

  return {
    async open(hold) {
      const opened = await openBy(open, hold)
      // The successor may settle the recorded payment, and the call that recorded it may have died while it waited.
      return opened.verdict === 'orphaned' && replicated !== connection
        ? openBy(openReplicated, hold)
        : opened
    },

    async record(hold) {
      const { answer, payment } = hold.recorded
      const rounds = payment ? [payment.txId, String(payment.firstValid), String(payment.lastValid)] : []
      const lives = [hold.leaseMs, hold.claimTtlMs, hold.paymentTtlMs]
      const reply = await record(rolesOf(hold), hold.token, [...lives, bytesOf(answer), ...rounds])
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
      return String(await resolve(roles, hold.token, [verdict, txId, retentionMs, leaseMs])) as Resolved
    },

    async sell({ slot, units, expiresAtMs }) {
      await sell(balance(slot), '', [wholeUnits(units), Math.ceil(expiresAtMs)])
    },

    async look(slot) {
      const [unused, free, expiresAtMs] = ((await look(balance(slot), '', [])) ?? []) as readonly number[]
      return unused === undefined ? undefined : ({ unused, free, expiresAtMs } as UnitsLeft)
    },

    async drop(slot) {
      await drop(balance(slot), '', [])
    },

    now: time.now,
  }
}

const textOf = (units: number | undefined) => (units === undefined ? '' : wholeUnits(units))

function readOpened([verdict, ...rest]: readonly (Buffer | number | null)[]): Opened {
  const name = String(verdict) as Opened['verdict']
  switch (name) {
    case 'replayable':
      return { verdict: name, answer: rest[0] as Buffer }
    case 'orphaned':
      return { verdict: name, recorded: readRecorded(rest as readonly (Buffer | null)[]) }
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

function readTaken([said, unused, free]: readonly (Buffer | number | null)[]): UnitsTaken {
  const verdict = String(said) as UnitsTaken['verdict']
  switch (verdict) {
    case 'taken':
      return { verdict, unused: Number(unused) }
    case 'short':
      return { verdict, unused: Number(unused), free: Number(free) }
    default:
      return { verdict: 'none' }
  }
}

function readRecorded([answer, txId, firstValid, lastValid]: readonly (
  | Buffer
  | null
  | undefined
)[]): Recorded {
  const recorded = { answer: answer ?? new Uint8Array() }
  if (!txId || !firstValid || !lastValid) return recorded
  const [first, last] = [BigInt(String(firstValid)), BigInt(String(lastValid))]
  return { ...recorded, payment: { txId: String(txId), firstValid: first, lastValid: last } }
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
