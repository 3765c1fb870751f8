/**
 * A Redis in memory, on a simulated clock, for the charge store's scripts alone: the real adapter runs over it as over a
 * connection. It decides as memory does. A test replays the same histories on it and on a real Redis. No command fails, is
 * slow, or is lost: whoever simulates that wraps `script` and `send`.
 */

import * as transition from '../../../src/domain/charge-store/transition.js'
import type { CloseMove, Opened, ResolveMove, UnitsCounted } from '../../../src/index.js'
import {
  type ChargeConnection,
  ChargeRecords,
  type Decision,
  type RedisClient,
  type ScriptArgument,
} from '../../../src/simulation-parts.js'

export interface RedisModelOptions {
  /** The server's time of day. */
  readonly nowMs: () => number
  /** What the adapter takes its deadlines from. @default 2000 */
  readonly commandTimeoutMs?: number
}

export interface RedisModel extends ChargeConnection {
  /** A slot is what the keys of one payer begin with. */
  readonly records: ChargeRecords
}

const UNBOUNDED = {
  max: Number.POSITIVE_INFINITY,
  callsMax: Number.POSITIVE_INFINITY,
  settlingBytesMax: Number.POSITIVE_INFINITY,
}

export function redisModel({ nowMs, commandTimeoutMs = 2_000 }: RedisModelOptions): RedisModel {
  const serverMs = () => Math.floor(nowMs())
  const records = new ChargeRecords(UNBOUNDED)
  // The only command that is sent beside the scripts.
  const client = { time: async () => [Math.floor(serverMs() / 1_000), (serverMs() % 1_000) * 1_000] }
  return {
    records,
    commandTimeoutMs,
    send: async command => command(client as unknown as RedisClient),
    script(name) {
      const script = SCRIPTS[name]
      if (!script) throw new Error(`the model of Redis does not know the script ${name}`)
      return async (keys, [letters, token, ...args]) => {
        const nowMs = serverMs()
        if (MOVES_IN_TIME.includes(name) && nowMs > Number(args.shift())) return ['late', nowMs]
        records.collect(nowMs)
        const decision = script(records, namesIn(keys, String(letters), String(token)), args, nowMs)
        records.keep(decision)
        return replyOf(decision.verdict)
      }
    },
    onUp: listener => listener(),
  }
}

/** Their first argument is a deadline. */
const MOVES_IN_TIME = ['svcOpen', 'svcRecord', 'svcResolve']

interface Names {
  readonly slot: string
  readonly token: string
  readonly claim?: { readonly name: string; readonly bodyHash: string }
  readonly payment?: string
  readonly answerName?: string
  readonly hasUnits: boolean
}

/** What the keys name, by their letters. Only `open` is given the hash of a body. */
function namesIn(keys: readonly (string | Buffer)[], letters: string, token: string): Names {
  const slot = String(keys[0]).replace(/(?<=\}:).*/s, '')
  const named = (letter: string) => {
    const key = keys[letters.indexOf(letter)]
    return key === undefined ? undefined : String(key).slice(slot.length).replace(/^\w+:/, '')
  }
  const [name, payment, answerName] = ['c', 'p', 'n'].map(named)
  return {
    slot,
    token,
    claim: name === undefined ? undefined : { name, bodyHash: '' },
    payment,
    answerName,
    hasUnits: letters.includes('u'),
  }
}

type Script = (
  records: ChargeRecords,
  names: Names,
  args: readonly ScriptArgument[],
  nowMs: number,
) => Decision<Opened | UnitsCounted | string | boolean | undefined>

const SCRIPTS: Readonly<Record<string, Script>> = {
  svcOpen(records, names, [bodyHash, leaseMs, isBearer, caller, take], nowMs) {
    const claim = names.claim && { ...names.claim, bodyHash: String(bodyHash) }
    const bearing = { isBearer: isBearer === 1, caller: caller === '' ? undefined : String(caller) }
    const most = take === '' ? undefined : Number(take)
    const move = { ...names, ...bearing, claim, leaseMs: Number(leaseMs), take: most }
    return transition.open(records, move, nowMs)
  },
  svcRecord(records, names, [leaseMs, claimTtlMs, paymentTtlMs, answer, ...rounds], nowMs) {
    const [txId, first, last] = rounds.map(String)
    const payment = txId && { txId, firstValid: BigInt(first!), lastValid: BigInt(last!) }
    const recorded = { answer: answer as Buffer, ...(payment && { payment }) }
    const lives = { claimTtlMs: Number(claimTtlMs), paymentTtlMs: Number(paymentTtlMs) }
    return transition.record(records, { ...names, ...lives, leaseMs: Number(leaseMs), recorded }, nowMs)
  },
  svcRenew: (records, names, [leaseMs], nowMs) => transition.renew(records, names, Number(leaseMs), nowMs),
  svcClose(records, names, [how, retentionMs, charge, answer], nowMs) {
    const given = { how: how as CloseMove['how'], answer: answer as Buffer | undefined }
    const cost = charge === '' ? undefined : Number(charge)
    const move = { ...names, ...given, retentionMs: Number(retentionMs), charge: cost }
    return transition.count(records, move, nowMs)
  },
  svcResolve(records, names, [verdict, txId, retentionMs, leaseMs], nowMs) {
    const lives = { retentionMs: Number(retentionMs), leaseMs: Number(leaseMs) }
    const found = { verdict: verdict as ResolveMove['verdict'], txId: String(txId) }
    return transition.resolve(records, { ...names, ...lives, ...found }, nowMs)
  },
  svcSell(records, { slot }, [units, expiresAtMs], nowMs) {
    return transition.sell(records, { slot, units: Number(units), expiresAtMs: Number(expiresAtMs) }, nowMs)
  },
  svcDrop: (records, { slot }, _, nowMs) => transition.drop(records, slot, nowMs),
}

function replyOf(verdict: ReturnType<Script>['verdict']): unknown {
  if (verdict === undefined) return null
  if (typeof verdict === 'boolean') return verdict ? 1 : 0
  if (typeof verdict === 'string') return verdict
  // What a balance has, or what is unused after a close: in the order of the reply.
  if (!('verdict' in verdict) || isCounted(verdict)) return Object.values(verdict)
  return openedReply(verdict)
}

function isCounted(verdict: Opened | UnitsCounted): verdict is UnitsCounted {
  return verdict.verdict === 'closed' || verdict.verdict === 'superseded'
}

function openedReply(opened: Opened): readonly unknown[] {
  switch (opened.verdict) {
    case 'replayable':
      return [opened.verdict, Buffer.from(opened.answer)]
    case 'orphaned': {
      const { answer, payment } = opened.recorded
      const rounds = payment ? [payment.txId, String(payment.firstValid), String(payment.lastValid)] : []
      return [opened.verdict, Buffer.from(answer), ...rounds]
    }
    case 'notKept':
      return [opened.verdict, opened.txId]
    case 'inProgress':
    case 'inUse':
      return [opened.verdict, opened.retryAfterMs]
    case 'opened':
      return [opened.verdict, ...Object.values(opened.units ?? {})]
    default:
      return [opened.verdict]
  }
}
