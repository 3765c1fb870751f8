/** What every script begins with (`lua/prelude.ts`), function for function. */
import { claimTable } from '../../../src/domain/machines/claim.machine.js'
import { LAPSED_KEPT_MS, VERDICT_FOR_OTHERS } from '../../../src/domain/machines/claim-and-payment.rules.js'
import { type PaymentState, paymentTable } from '../../../src/domain/machines/payment.machine.js'
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

  /** Redis has a string of these fields, and the model a hash: whoever reads a claim sees the same. */
  keepFinal(claim: Stored, retentionMs: string, answer?: string): void {
    const { drawing, name, state, token } = claim
    if (state === drawing.initial) {
      this.keep(claim)
      return
    }
    const kept = ['bodyHash', 'recordedBy', 'answer'].map(field => this.hashes.get(name, field))
    const [bodyHash, recordedBy, recorded] = kept
    const by = recordedBy === token ? ['recordedBy', recordedBy!] : []
    this.hashes.delete(name)
    this.hashes.set(
      name,
      'state',
      state,
      'token',
      token!,
      'bodyHash',
      bodyHash!,
      'answer',
      answer ?? recorded!,
      ...by,
    )
    this.hashes.expire(name, retentionMs)
  }

  presented(payment: Stored | undefined): string {
    if (!payment) return 'opened'
    if (payment.token === this.token && this.lists(payment, 'opened')) return 'opened'
    return VERDICT_FOR_OTHERS[payment.state as PaymentState]
  }
}
