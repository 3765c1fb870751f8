/** What every script begins with (`lua/prelude.ts`), function for function. */
import { claimTable } from '../../../../src/domain/machines/claim.machine.js'
import {
  KEPT_BYTES_MAX,
  KEPT_RECORD_BYTES,
  LAPSED_KEPT_MS,
  VERDICT_FOR_OTHERS,
} from '../../../../src/domain/machines/claim-and-payment.rules.js'
import { type PaymentState, paymentTable } from '../../../../src/domain/machines/payment.machine.js'
import type { StoredHashes } from '../stored-hashes.js'

interface Lifecycle {
  readonly initial: string
  readonly rows: Readonly<Record<string, { readonly on: Readonly<Record<string, string>> }>>
}

export const CLAIM: Lifecycle = claimTable
export const PAYMENT: Lifecycle = paymentTable

export interface Stored {
  readonly drawing: Lifecycle
  readonly name: string
  state: string
  readonly token: string | null
  readonly leaseEndsMs: number
}

export class Records {
  readonly key: Readonly<Partial<Record<string, string>>>
  readonly token: string

  constructor(
    readonly hashes: StoredHashes,
    readonly nowMs: number,
    keys: readonly string[],
    argv: readonly string[],
  ) {
    this.key = Object.fromEntries(keys.map((name, at) => [argv[0]![at], name]))
    this.token = argv[1]!
  }

  isLate(deadlineMs: string | undefined): boolean {
    return this.nowMs > Number(deadlineMs)
  }

  lists({ drawing, state }: Stored, event: string): boolean {
    return drawing.rows[state]!.on[event] !== undefined
  }

  move(record: Stored, event: string): void {
    const state = record.drawing.rows[record.state]!.on[event]
    if (state === undefined) throw new Error(`ERR state ${record.state} does not list the event ${event}`)
    record.state = state
  }

  moveAlong(record: Stored, events: readonly string[]): boolean {
    const event = events.find(event => this.lists(record, event))
    if (event === undefined) return false
    this.move(record, event)
    return true
  }

  find(drawing: Lifecycle, name: string | undefined): Stored | undefined {
    if (name === undefined) return undefined
    const state = this.hashes.get(name, 'state')
    if (state === null) return undefined
    const leaseEndsMs = Number(this.hashes.get(name, 'leaseEndsMs'))
    const record = { drawing, name, state, token: this.hashes.get(name, 'token'), leaseEndsMs }
    if (this.nowMs >= leaseEndsMs && this.lists(record, 'lapsed')) this.move(record, 'lapsed')
    return record
  }

  fresh(drawing: Lifecycle, name: string): Stored {
    return { drawing, name, state: drawing.initial, token: null, leaseEndsMs: Number.NaN }
  }

  keep({ drawing, name, state }: Stored, ...pairs: readonly (string | number)[]): void {
    if (state === drawing.initial) this.hashes.delete(name)
    else this.hashes.set(name, 'state', state, ...pairs)
  }

  hold(record: Stored, leaseMs: number, ...pairs: readonly string[]): void {
    this.keep(record, 'token', this.token, 'leaseEndsMs', this.nowMs + leaseMs, ...pairs)
    this.hashes.drop(record.name, 'answer', 'txId', 'firstValid', 'lastValid', 'recordedBy')
    this.hashes.expire(record.name, leaseMs + LAPSED_KEPT_MS)
  }

  keepFinal(claim: Stored, retentionMs: string, answer?: string): void {
    if (claim.state === claim.drawing.initial) this.keep(claim)
    else this.storeFinal(claim, claim.name, retentionMs, answer)
  }

  /** Redis has a string of these fields, and the model a hash: whoever reads a claim sees the same. */
  storeFinal(claim: Stored, from: string, retentionMs: string, given?: string): void {
    const { name, state, token } = claim
    const fields = ['bodyHash', 'recordedBy', 'answer', 'txId', 'caller']
    const [bodyHash, recordedBy, recorded, txId, caller] = fields.map(field => this.hashes.get(from, field))
    const answer = given ?? recorded!
    const isAdopted = typeof recordedBy === 'string' && recordedBy !== token
    this.hashes.delete(name)
    this.hashes.set(name, 'state', state, 'token', token!, 'bodyHash', bodyHash!, 'answer', answer)
    if (recordedBy === token) this.hashes.set(name, 'recordedBy', token!)
    if (typeof txId === 'string') this.hashes.set(name, 'txId', txId)
    if (isAdopted && typeof caller === 'string') this.hashes.set(name, 'caller', caller)
    this.hashes.expire(name, retentionMs)
    this.#bound(name, answer.length, retentionMs)
  }

  /** Redis has a sorted set, and the model a hash of the scores. */
  #bound(name: string, bytes: number, retentionMs: string): void {
    const index = this.key.k
    if (index === undefined) return
    const { hashes } = this
    const place = `${index.slice(0, -'kept'.length)}claim:`
    const score = (member: string) => Number(hashes.get(index, member))
    const members = () => hashes.fields(index).sort((a, b) => score(a) - score(b))
    const newest = members().at(-1)
    const total = (newest === undefined ? 0 : score(newest)) + bytes + KEPT_RECORD_BYTES
    hashes.set(index, name.slice(place.length), total)
    if (hashes.lifeMs(index) < Number(retentionMs)) hashes.expire(index, retentionMs)
    for (;;) {
      const oldest = members()[0]!
      if (total - score(oldest) < KEPT_BYTES_MAX) return
      hashes.drop(index, oldest)
      if (hashes.get(place + oldest, 'state') === 'completed') hashes.drop(place + oldest, 'answer')
    }
  }

  presented(payment: Stored | undefined): string {
    if (!payment) return 'opened'
    if (payment.token === this.token && this.lists(payment, 'opened')) return 'opened'
    return VERDICT_FOR_OTHERS[payment.state as PaymentState]
  }
}
