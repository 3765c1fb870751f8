/**
 * Sends the moves that end a call again until their store answers them. Otherwise a lost completion would let the same key be
 * charged again after its answer was delivered, and a lost release would lock the key until its lease ends.
 *
 * Each move is fenced by its call's token, so a late move changes nothing that another call holds. The moves live in
 * this process: if it ends first, leases and the chain do the same work later.
 */
import type { ChargeStore, CloseMove } from '../../ports/charge-store.js'
import type { Cancel, Clock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import type { Leases } from './leases.js'

export interface PendingMoves<Move> {
  /** Sends this move until the store answers it with any verdict. */
  add(move: Move): void
  /** Resolves when the store has answered all of them. */
  sent(): Promise<void>
  close(): void
}

export type PendingCloses = PendingMoves<CloseMove>
export type PendingWindowMoves = PendingMoves<WindowMove>

/** The end of a call that a window's count covered. */
export interface WindowMove {
  readonly how: 'use' | 'giveBack'
  readonly id: string
  readonly token: string
}

/** The pauses between asking a store again. */
export const RETRY_MIN_MS = 250
export const RETRY_MAX_MS = 5_000
/** Enough for a store that is down for a minute and a half under a hundred calls a second. */
const PENDING_MAX = 10_000
const AT_ONCE = 32

/** A call whose close still carries its answer has its lease until the store answers: a successor would lose the answer. */
export function pendingCloses(
  store: ChargeStore,
  leases: Pick<Leases, 'drop'>,
  logger: Logger,
  clock: Pick<Clock, 'after'>,
): PendingCloses {
  const sendOne = async (move: CloseMove) => {
    await store.close(move)
    leases.drop(move.token)
  }
  return pendingMoves(sendOne, 'release', ({ token }) => leases.drop(token), logger, clock)
}

export function pendingWindowMoves(
  store: SubscriptionStore,
  logger: Logger,
  clock: Pick<Clock, 'after'>,
): PendingWindowMoves {
  const sendOne = async ({ how, id, token }: WindowMove) => store[how]!(id, token)
  return pendingMoves(sendOne, 'giveBack', () => {}, logger, clock)
}

function pendingMoves<Move extends { readonly how: string; readonly payment?: string }>(
  sendOne: (move: Move) => Promise<unknown>,
  /** Moves of this kind may be dropped: the end of the lease does the same later. */
  spare: Move['how'],
  onDropped: (move: Move) => void,
  logger: Logger,
  clock: Pick<Clock, 'after'>,
): PendingMoves<Move> {
  const pending: Move[] = []
  let waitMs = RETRY_MIN_MS
  /** How many moves a round sends first: one, so that a store that is down does not get thirty-two requests at once. */
  let first = 1
  /** A round waits, or is being sent. */
  let isRunning = false
  let isClosed = false
  let cancel: Cancel | undefined
  const onSent: (() => void)[] = []

  /** A lost move ends the round, and goes to the end: one that the store always rejects would hold up all others. */
  async function send(): Promise<void> {
    let isAnswered = false
    for (let count = first; pending.length > 0; count = AT_ONCE) {
      const moves = pending.splice(0, count)
      const sent = await Promise.allSettled(moves.map(sendOne))
      const lost = moves.filter((_, at) => sent[at]!.status === 'rejected')
      if (isClosed) return
      pending.push(...lost)
      isAnswered ||= lost.length < moves.length
      if (lost.length > 0) break
    }
    // If each round sent one move, thousands of rejected moves would block the others for hours.
    first = isAnswered ? 1 : Math.min(2 * first, AT_ONCE)
    waitMs = isAnswered ? RETRY_MIN_MS : Math.min(2 * waitMs, RETRY_MAX_MS)
    isRunning = false
    if (pending.length > 0) wait()
    else for (const tell of onSent.splice(0)) tell()
  }

  function wait(): void {
    isRunning = true
    cancel = clock.after(waitMs, () => void send())
  }

  return {
    add(move) {
      if (pending.length >= PENDING_MAX) {
        // Drop a release first: its lease ends anyway. A completion keeps an answer.
        const dropped = pending.findIndex(({ how }) => how === spare)
        const [move] = pending.splice(Math.max(dropped, 0), 1) as [Move]
        const { how, payment } = move
        onDropped(move)
        const message = 'too many moves wait for the store: leases and the chain close this one'
        logger.error({ how, txId: payment }, message)
      }
      pending.push(move)
      if (!isRunning && !isClosed) wait()
    },
    sent: () => new Promise(resolve => (isRunning ? void onSent.push(resolve) : resolve())),
    close() {
      isClosed = true
      cancel?.()
      pending.length = 0
    },
  }
}
