import type { Closed, CloseMove, Hold, Resolved, ResolveMove } from '../../../src/ports/charge-store.js'

interface Claim {
  state: 'working' | 'settling' | 'completed'
  token: string
  body: string
  leaseEndsMs: number
  answer?: string
  txId?: string
  by?: string
  windowEndsMs?: number
}

interface Payment {
  state: 'held' | 'settling' | 'spent'
  token: string
  leaseEndsMs: number
}

/** The five moves spelt out branch by branch, without the drawings, so that it can disagree with them. */
export class Reference {
  nowMs = 0
  readonly #claims = new Map<string, Claim>()
  readonly #payments = new Map<string, Payment>()

  constructor(
    readonly leaseMs: number,
    readonly retentionMs: number,
  ) {}

  open(call: Hold): string {
    const claim = this.#claim(call)
    const payment = this.#payment(call)
    if (claim) {
      if (claim.body !== call.claim!.bodyHash) return 'reused'
      if (claim.state === 'completed') return `replayable ${claim.answer}`
      if (claim.token !== call.token && this.nowMs < claim.leaseEndsMs) return 'inProgress'
      if (claim.state === 'settling') {
        claim.token = call.token
        claim.leaseEndsMs = this.nowMs + this.leaseMs
        return `orphaned ${claim.answer} ${claim.txId}`
      }
    }
    if (payment?.state === 'spent') return 'spent'
    if (payment?.state === 'settling') return 'inUse'
    if (payment && payment.token !== call.token && this.nowMs < payment.leaseEndsMs) return 'inUse'
    this.#hold(call)
    return 'opened'
  }

  record(call: Hold, answer: string): 'recorded' | 'superseded' {
    const claim = this.#claim(call)
    const payment = this.#payment(call)
    if (call.claim && claim?.token !== call.token) return 'superseded'
    if (call.payment && payment?.token !== call.token) return 'superseded'
    const begun = (claim && claim.state !== 'working') || (payment && payment.state !== 'held')
    if (begun) return claim && claim.by !== call.token ? 'superseded' : 'recorded'
    const leaseEndsMs = this.nowMs + this.leaseMs
    if (payment) Object.assign(payment, { state: 'settling', leaseEndsMs })
    if (claim) {
      Object.assign(claim, { state: 'settling', leaseEndsMs, answer, txId: call.payment, by: call.token })
    }
    return 'recorded'
  }

  renew(call: Hold): boolean {
    const claim = this.#claim(call)
    const payment = this.#payment(call)
    if (call.claim && (claim?.token !== call.token || claim.state === 'completed')) return false
    if (call.payment && (payment?.token !== call.token || payment.state === 'spent')) return false
    for (const record of [claim, payment]) if (record) record.leaseEndsMs = this.nowMs + this.leaseMs
    return true
  }

  close(call: Hold, how: CloseMove['how'], answer: string): Closed {
    const claim = this.#claim(call)
    const payment = this.#payment(call)
    const claimOurs = claim?.token === call.token && (claim.state !== 'settling' || claim.by === call.token)
    let ended = true
    if (call.payment) {
      const payable = payment?.token === call.token && payment.state !== 'spent'
      if (!payable || (how === 'release' && call.claim && !claimOurs)) ended = false
      else if (how !== 'release' && payment.state === 'settling') payment.state = 'spent'
      else this.#payments.delete(call.payment)
    }
    if (!call.claim) return ended ? 'closed' : 'superseded'
    if (!claim || !claimOurs || claim.state === 'completed') return 'superseded'
    if (how !== 'complete') this.#claims.delete(call.claim.name)
    else {
      claim.answer ??= answer
      claim.state = 'completed'
      claim.windowEndsMs = this.nowMs + this.retentionMs
    }
    return ended ? 'closed' : 'superseded'
  }

  resolve(call: Hold, txId: string, verdict: ResolveMove['verdict']): Resolved {
    const claim = this.#claim(call)
    if (claim?.token !== call.token) return 'moved'
    if (claim.state === 'completed') return 'completed'
    if (claim.state === 'working') {
      return !call.payment || this.#payment(call)?.token === call.token ? 'opened' : 'moved'
    }
    if (claim.txId !== txId) return 'moved'
    const recorded = this.#payments.get(txId)
    if (recorded?.state === 'settling') {
      if (verdict === 'dead') this.#payments.delete(txId)
      else recorded.state = 'spent'
    }
    if (verdict === 'found') {
      Object.assign(claim, { state: 'completed', windowEndsMs: this.nowMs + this.retentionMs })
      return 'completed'
    }
    this.#claims.delete(call.claim!.name)
    const payment = this.#payment(call)
    if (payment?.state === 'spent') return 'spent'
    const lapsed = payment && this.nowMs >= payment.leaseEndsMs
    if (payment?.state === 'settling') return 'moved'
    if (payment && payment.token !== call.token && !lapsed) return 'moved'
    this.#hold(call)
    return 'opened'
  }

  #hold({ claim, payment, token }: Hold): void {
    const leaseEndsMs = this.nowMs + this.leaseMs
    if (claim) this.#claims.set(claim.name, { state: 'working', token, body: claim.bodyHash, leaseEndsMs })
    if (payment) this.#payments.set(payment, { state: 'held', token, leaseEndsMs })
  }

  #claim(call: Hold): Claim | undefined {
    const name = call.claim?.name
    if (name === undefined) return undefined
    const claim = this.#claims.get(name)
    if (claim?.windowEndsMs !== undefined && this.nowMs >= claim.windowEndsMs) this.#claims.delete(name)
    return this.#claims.get(name)
  }

  #payment(call: Hold): Payment | undefined {
    return call.payment === undefined ? undefined : this.#payments.get(call.payment)
  }
}
