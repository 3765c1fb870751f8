/** How the explorer's steps are made and collected. */
import { type Answered, Broken, make, type StoreMove } from './store-moves.js'
import type { Moment } from './world.js'

/** What a step does to the store, in the order in which it does: enough to do the same to another store. */
export type Deed =
  | { readonly kind: 'move'; readonly move: StoreMove; readonly answered: Answered }
  | { readonly kind: 'lapse' | 'forget'; readonly token: string }
  | { readonly kind: 'forget'; readonly txId: string }

export interface Step {
  readonly label: string
  readonly after: Moment
  readonly deeds: readonly Deed[]
  /** The rule that the step breaks. */
  readonly breaks: string | undefined
}

/** The steps that lead out of one moment. */
export class Steps {
  readonly found: Step[] = []

  constructor(readonly from: Moment) {}

  /** Something happens: `does` changes a copy of the moment. */
  add(label: string, does: (after: Moment, did: (deed: Deed) => void) => void): void {
    const after = this.from.copy()
    const deeds: Deed[] = []
    let breaks: string | undefined
    try {
      does(after, deed => deeds.push(deed))
    } catch (cause) {
      if (!(cause instanceof Broken)) throw cause
      breaks = cause.message
    }
    this.found.push({ label, after, deeds, breaks })
  }

  /** The store's move: it is answered, or it is lost, or its answer is. */
  move(
    move: StoreMove,
    answered: (after: Moment, answered: Answered) => void,
    lost: (after: Moment) => void,
  ): void {
    const { from } = this
    const told = `call ${move.call}: ${move.kind}${move.kind === 'close' ? ` ${move.how}` : ''}`
    const made = (after: Moment, did: (deed: Deed) => void) => {
      const verdict = make(after, move)
      did({ kind: 'move', move, answered: verdict })
      return verdict
    }
    this.add(told, (after, did) => answered(after, made(after, did)))
    if (from.spare.losses === 0) return
    const losing = (after: Moment) => {
      after.spare = { ...after.spare, losses: after.spare.losses - 1 }
    }
    this.add(`${told}, which is lost`, after => {
      losing(after)
      lost(after)
    })
    this.add(`${told}, whose answer is lost`, (after, did) => {
      losing(after)
      made(after, did)
      lost(after)
    })
    this.add(`${told}, which is sent again`, (after, did) => {
      losing(after)
      made(after, did)
    })
    if (from.world.plan.ignoresDeadlines && (move.kind === 'open' || move.kind === 'record')) {
      const { kind, call } = move
      this.add(`${told}, which the network keeps`, after => {
        losing(after)
        lost(after)
        after.setCall(call, { late: kind })
      })
    }
  }
}
