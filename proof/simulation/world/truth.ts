/** What really happened, as nobody in the world knows it: every run, every charge, and what each party was told. */

import type { ChargeStore, EndedCall, Runs } from '../../../src/index.js'
import { algorandPaymentReader, type ReadPayment } from '../../../src/simulation-parts.js'
import { Losses } from '../invariants/forgotten.js'
import type { Invariant } from '../invariants/names.js'
import type { Process } from '../kernel/process.js'
import { type EndpointName, sellsBalance, type Work, type WorkContext } from './agents.js'
import type { WireReply, WireRequest } from './wire.js'

/** One start of a handler. */
export interface Run {
  readonly id: number
  readonly endpoint: EndpointName
  readonly act: string
  readonly work: Work
  readonly txId: string | undefined
  readonly payer: string | undefined
  /** Of its request. */
  readonly key: string | undefined
  /** Its call's. */
  readonly traceId: string
  readonly atMs: number
  returned: boolean
}

/** A request of a caller, and all that came back. */
export interface Asking {
  readonly endpoint: EndpointName
  readonly act: string
  readonly body: string
  readonly key: string | undefined
  readonly window: string | undefined
  /** The key of a balance. */
  readonly balance: string | undefined
  /** Base units, as the caller sent them. */
  readonly maxCharge: string | undefined
  readonly header: string | undefined
  /** As it was sent: through which door, in which wrapping. */
  readonly request: WireRequest
  readonly address: string
  readonly payment: ReadPayment | undefined
  readonly atMs: number
  reply: WireReply | undefined
  /** When its caller had the answer, or was gone. */
  heardMs: number | undefined
  /** The connection ended before the answer had left, or the answer was lost on its way. */
  isLost: boolean
  /** Its caller ended it. */
  isHungUp: boolean
}

/** A window that a buyer has heard of. */
export interface Window {
  readonly txId: string
  /** The endpoint that it was sold for. */
  readonly endpoint: EndpointName
  /** By the time of day of the store, as the buyer heard it. */
  readonly expiresAtMs: number
  /** The runs whose answers were heard in it, without the one that bought it. */
  readonly runs: Set<number>
}

/** A balance that a buyer has heard of. */
export interface Balance {
  readonly txId: string
  /** The endpoint that sold it. */
  readonly endpoint: EndpointName
  /** What was paid for it, by the chain. */
  readonly bought: bigint
  /** By the simulation's time of day. */
  readonly expiresAtMs: number
}

/** Who sent a payment to be settled, and when. */
export interface SettleAsked {
  readonly txId: string
  readonly atMs: number
}

export interface Recorded {
  readonly call: string
  readonly txId: string
  readonly atMs: number
  /** For how long its process has stood still since. */
  readonly stillMs: () => number
  /** When the store did so; its answer may have been lost. */
  appliedMs?: number
}

export interface Held {
  readonly call: string
  readonly txId: string
  /** The call's process. */
  readonly from: string
  readonly atMs: number
}

/** A call that learned from the chain, or from settling again, what became of an earlier call's payment. */
export interface Resolved {
  readonly call: string
  readonly txId: string
  readonly verdict: 'found' | 'dead'
  readonly atMs: number
}

export interface Violation {
  readonly invariant: Invariant
  readonly detail: string
  readonly atMs: number
}

/** Redis is asked for its time, for the move, and once more where its clock was not the known one: 2 s each. */
const RECORD_MAX_MS = 6_500

export class Truth {
  readonly handlerRuns: Run[] = []
  readonly askings: Asking[] = []
  readonly calls: EndedCall[] = []
  /** What the journal has of them, in its order: streams stand there before they leave, and their ends by themselves. */
  readonly journal: (EndedCall & { readonly streaming?: true })[] = []
  readonly streamEnds: EndedCall[] = []
  readonly endedMs = new Map<string, number>()
  readonly settles: SettleAsked[] = []
  /** What each process sent to be settled, and when. */
  readonly settlesSent: (SettleAsked & { readonly from: string })[] = []
  /** Calls that held a payment, or took one over. One that never ended died with its process. */
  readonly holds: Held[] = []
  readonly records: Recorded[] = []
  /** Calls that heard from the store that what they held is free again. */
  readonly released = new Set<string>()
  /** Verdicts that recovering calls have sent to the store. */
  readonly resolves: Resolved[] = []
  /** What calls opened in the store. */
  readonly opened: { readonly token: string; readonly hasPayment: boolean }[] = []
  readonly violations: Violation[] = []
  /** The payment that bought each window's key, and the run that was delivered for each payment. */
  readonly windows = new Map<string, Window>()
  readonly delivered = new Map<string, number>()
  /** By their keys. */
  readonly balances = new Map<string, Balance>()
  /** What each run of each call on a balance was told to cost. */
  readonly costs = new Map<string, Map<number, bigint>>()
  /** Payments that their payer submitted itself. */
  readonly byPayer = new Set<string>()
  /** Payments that a hostile seller called spent. */
  readonly calledSpent = new Set<string>()
  readonly losses = new Losses(this)
  deaths = 0
  readonly #streaming = new Set<string>()
  readonly #reader = algorandPaymentReader()
  readonly #read = new Map<string, ReadPayment | undefined>()
  readonly #now: () => number
  readonly #trace: (line: string) => void
  readonly #onReply: (asking: Asking, reply: WireReply) => void
  readonly #onEnd: (call: EndedCall) => void

  constructor(
    now: () => number,
    trace: (line: string) => void,
    onReply: (asking: Asking, reply: WireReply) => void,
    onEnd: (call: EndedCall) => void,
  ) {
    this.#now = now
    this.#trace = trace
    this.#onReply = onReply
    this.#onEnd = onEnd
  }

  violated(invariant: Invariant, detail: string): void {
    this.violations.push({ invariant, detail, atMs: this.#now() })
    this.#trace(`VIOLATION ${invariant}: ${detail}`)
  }

  readonly runs: Runs = {
    ended: call => {
      this.calls.push(call)
      if (this.#streaming.has(call.id)) this.streamEnds.push(call)
      else this.journal.push(call)
      this.#notChargedForTheLost(call)
      this.#onEnd(call)
      this.endedMs.set(call.id, this.#now())
      this.#trace(
        `ended ${call.id.slice(0, 8)} ${call.path.join(' ')} ${call.final} ${call.txId?.slice(0, 6) ?? ''}`,
      )
    },
    streaming: call => {
      this.#streaming.add(call.id)
      this.journal.push({ ...call, streaming: true })
    },
    list: () => [],
  }

  runBegins(endpoint: EndpointName, work: Work, { payment, traceId, idempotencyKey: key }: WorkContext): Run {
    const { txId, payer } = payment
    const id = this.handlerRuns.length + 1
    const about = { id, endpoint, act: work.act, work, txId, payer, key, traceId }
    const run = { ...about, atMs: this.#now(), returned: false }
    this.handlerRuns.push(run)
    this.#trace(`run ${id} begins for ${work.act} ${txId?.slice(0, 6) ?? ''}`)
    return run
  }

  /** The runs of calls that were asked for on this balance; two balances may have seen one key. */
  runsOn(balance: string): Run[] {
    const asked = new Set(
      this.askings.flatMap(({ endpoint, key, ...asking }) =>
        asking.balance === balance && key !== undefined ? [`${endpoint} ${key}`] : [],
      ),
    )
    return this.handlerRuns.filter(({ endpoint, key, txId }) => !txId && asked.has(`${endpoint} ${key}`))
  }

  runReturns(run: Run): void {
    run.returned = true
    this.#trace(`run ${run.id} returns`)
  }

  settleAsked(body: Buffer): void {
    const payment = this.readIn(JSON.parse(body.toString('utf8')).paymentPayload)
    if (!payment) return
    const { txId } = payment
    this.#trace(`settle ${txId.slice(0, 6)}`)
    this.settles.push({ txId, atMs: this.#now() })
    const hasReturned = this.handlerRuns.some(run => run.txId === txId && run.returned)
    // What sells balances is the product's own handler.
    const isPurchase = this.askings.some(
      ({ payment, endpoint }) => payment?.txId === txId && sellsBalance(endpoint),
    )
    if (!hasReturned && !isPurchase)
      this.violated('no-charge-without-answer', `${txId} is settled, and no run for it has returned`)
    const isRecorded = this.records.some(record => record.txId === txId && record.appliedMs !== undefined)
    if (!isRecorded) this.violated('recorded-before-settling', `${txId} is settled, and nobody recorded it`)
  }

  /** A call that can give no answer to what an earlier one recorded must not have settled it, either. */
  #notChargedForTheLost({ id, path }: EndedCall): void {
    const held = path.includes('recovering.notKept') && this.holds.find(({ call }) => call === id)
    if (!held) return
    const { txId, from, atMs } = held
    const others = this.holds.some(
      other =>
        other.txId === txId &&
        other.from === from &&
        other.call !== id &&
        (this.endedMs.get(other.call) ?? Infinity) >= atMs,
    )
    const sent = this.settlesSent.some(each => each.txId === txId && each.from === from && each.atMs >= atMs)
    if (sent && !others)
      this.violated('no-charge-for-the-lost', `${id} settled ${txId}, and could answer nothing`)
  }

  settleSent(from: string, body: Buffer): void {
    const payment = this.readIn(JSON.parse(body.toString('utf8')).paymentPayload)
    if (payment) this.settlesSent.push({ txId: payment.txId, from, atMs: this.#now() })
  }

  /** Sees what is recorded, and by which call of this process. */
  watching(store: ChargeStore, process: Process): ChargeStore {
    const { name: from } = process
    return {
      ...store,
      open: async move => {
        const opened = await store.open(move)
        const { verdict } = opened
        if (verdict === 'opened')
          this.opened.push({
            token: move.token,
            hasPayment: move.payment !== undefined || move.hasUnits === true,
          })
        const txId = verdict === 'orphaned' ? opened.recorded.payment?.txId : move.payment
        if (txId && (verdict === 'opened' || verdict === 'orphaned'))
          this.holds.push({ call: move.token, txId, from, atMs: this.#now() })
        return opened
      },
      record: move => {
        const { payment: txId, token: call } = move
        const { stoodStillMs } = process
        // Its limits stand still with it.
        const stillMs = () => process.stoodStillMs - stoodStillMs
        if (txId) this.records.push({ call, txId, atMs: this.#now(), stillMs })
        const recorded = store.record(move)
        recorded.then(
          verdict => verdict === 'recorded' && this.recordApplied(call),
          () => {},
        )
        return recorded
      },
      resolve: move => {
        const { txId, token: call, verdict } = move
        this.resolves.push({ call, txId, verdict, atMs: this.#now() })
        return store.resolve(move)
      },
      close: async move => {
        const closed = await store.close(move)
        if (move.how === 'release') this.released.add(move.token)
        return closed
      },
    }
  }

  recordApplied(call: string): void {
    const record = this.records.findLast(each => each.call === call)
    if (!record || record.appliedMs !== undefined) return
    record.appliedMs = this.#now()
    const ms = record.appliedMs - record.atMs - record.stillMs()
    if (ms > RECORD_MAX_MS) this.violated('moves-in-time', `${record.txId} was recorded after ${ms} ms`)
  }

  asked(asking: Omit<Asking, 'payment' | 'atMs' | 'reply' | 'heardMs' | 'isLost' | 'isHungUp'>): Asking {
    const payment = this.#readHeader(asking.header)
    const key = asking.key ?? identifierOf(asking.header)
    const made = {
      ...asking,
      key,
      payment,
      atMs: this.#now(),
      reply: undefined,
      heardMs: undefined,
      isLost: false,
      isHungUp: false,
    }
    this.askings.push(made)
    this.#trace(
      `ask ${asking.endpoint} ${asking.act} ${payment?.txId.slice(0, 6) ?? '-'} key ${asking.key ?? '-'}`,
    )
    return made
  }

  heard(asking: Asking, reply: WireReply | undefined, isHungUp = false): void {
    asking.reply = reply
    asking.heardMs = this.#now()
    asking.isLost = reply === undefined
    asking.isHungUp = isHungUp
    const told = reply ? `${reply.status} ${reply.body.slice(0, 60)}` : 'lost'
    this.#trace(`hear ${asking.act} ${asking.payment?.txId.slice(0, 6) ?? '-'} ${told}`)
    if (reply) this.#onReply(asking, reply)
  }

  /** Read once, however often and in which wrapping it is presented. */
  readIn(payload: unknown): ReadPayment | undefined {
    const name = JSON.stringify((payload as { payload?: unknown })?.payload ?? null)
    if (!this.#read.has(name)) this.#read.set(name, this.#reader.read(payload as never))
    return this.#read.get(name)
  }

  #readHeader(header: string | undefined): ReadPayment | undefined {
    if (header === undefined) return undefined
    try {
      return this.readIn(JSON.parse(Buffer.from(header, 'base64').toString('utf8')))
    } catch {
      // It is no payment.
      return undefined
    }
  }
}

/** The key that a payment brings in itself. */
function identifierOf(header: string | undefined): string | undefined {
  try {
    const { extensions } = JSON.parse(Buffer.from(header ?? '', 'base64').toString('utf8'))
    return extensions?.['payment-identifier']?.info?.id
  } catch {
    // It is no payment.
    return undefined
  }
}

export function headerOf(reply: WireReply, name: string): string | undefined {
  return reply.headers.find(([each]) => each.toLowerCase() === name)?.[1]
}
