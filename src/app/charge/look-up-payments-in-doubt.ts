/**
 * Asks the chain about the payments of calls that ended in doubt. Ends the records of those that never landed: their answers are
 * owed to nobody.
 *
 * Only the chain's proof ends such a record. No time does, no node that lags, and no facilitator. The payments are known to this
 * process alone: if it ends first, their records wait for a retry, or for their own end.
 */
import { sharedQuestions } from '../../domain/load-once.js'
import type { Chain } from '../../ports/chain.js'
import type { ChargeStore, Hold, RecordedPayment } from '../../ports/charge-store.js'
import { type Cancel, type Clock, every } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'

export type PaymentsInDoubt = ReturnType<typeof paymentsInDoubt>

interface InDoubt {
  readonly hold: Hold
  readonly payment: RecordedPayment
  askAfter: bigint
}

interface PaymentsInDoubtDeps {
  readonly chain: Pick<Chain, 'round' | 'lookup'>
  readonly store: Pick<ChargeStore, 'resolve'>
  readonly logger: Logger
  readonly clock: Pick<Clock, 'after'>
  /** Called with what the chain has decided. */
  readonly onDecided: (txId: string, landed: boolean) => void
}

const SWEEP_EVERY_MS = 30_000
/** One lookup may take more than a hundred requests, and the node has payments to look up that callers wait for. */
const LOOKUPS_A_SWEEP = 20
/** About an hour. After that a node no longer has the blocks. */
const ASKED_ROUNDS = 1_000n
/** A payment beyond this number is not looked up: its record waits for a retry, or for its own end. */
const PAYMENTS_MAX = 10_000
/** The claim is given up as soon as it is ours. */
const LEASE_MS = 1

export function paymentsInDoubt({ chain, store, logger, clock, onDecided }: PaymentsInDoubtDeps) {
  const inDoubt = new Map<string, InDoubt>()
  let stopSweeping: Cancel | undefined
  const sweeping = sharedQuestions<void>()
  let isClosed = false
  const whenDecided: (() => void)[] = []

  async function sweep(): Promise<void> {
    // Where no node answers, no round is known to have passed.
    const round = (await chain.round()) ?? 0n
    const due = [...inDoubt].filter(([, { askAfter }]) => askAfter < round)
    for (const [txId, one] of due.slice(0, LOOKUPS_A_SWEEP)) {
      if (isClosed) return
      const isOver = await isDecided(one, round)
      if (inDoubt.get(txId) !== one) continue
      inDoubt.delete(txId)
      // Behind the others: twenty that nobody can decide must not take every place.
      if (!isOver) inDoubt.set(txId, one)
    }
    if (inDoubt.size === 0) stop()
  }

  async function isDecided(one: InDoubt, round: bigint): Promise<boolean> {
    const { txId, lastValid } = one.payment
    try {
      const landing = await chain.lookup(txId, one.payment)
      if (landing === 'absent') await drop(one)
      // What landed is owed: its answer stays until the caller asks for it.
      if (landing !== 'unknown') {
        onDecided(txId, landing === 'found')
        return true
      }
    } catch (cause) {
      logger.warn({ err: cause, txId }, 'the answer for a payment that never landed was not dropped')
    }
    // Double the wait: ask again when twice as many rounds have passed since the last valid one.
    one.askAfter = round + (round - lastValid)
    return round - lastValid > ASKED_ROUNDS
  }

  /** Fenced by the call's token: it changes nothing where a retry has taken the claim over. */
  async function drop({ hold, payment: { txId } }: InDoubt): Promise<void> {
    const move = { ...hold, txId, verdict: 'dead', retentionMs: 0, leaseMs: LEASE_MS } as const
    if ((await store.resolve(move)) === 'opened')
      logger.info({ txId }, 'a payment in doubt never landed; its answer was dropped')
  }

  function stop(): void {
    stopSweeping?.()
    stopSweeping = undefined
    for (const tell of whenDecided.splice(0)) tell()
  }

  return {
    /** The call with this token has ended. Its payment is recorded under the claim that it holds. */
    add({ slot, token, claim }: Hold, { txId, firstValid, lastValid }: RecordedPayment): void {
      const known = inDoubt.get(txId)
      if (isClosed || (!known && inDoubt.size >= PAYMENTS_MAX)) return
      // A caller that asks again must not have the chain asked sooner.
      const askAfter = known?.askAfter ?? lastValid
      inDoubt.set(txId, { hold: { slot, token, claim }, payment: { txId, firstValid, lastValid }, askAfter })
      stopSweeping ??= every(clock, SWEEP_EVERY_MS, () => void sweeping(sweep))
    },
    /** Resolves when none is left. */
    decided: () => new Promise<void>(resolve => (inDoubt.size > 0 ? whenDecided.push(resolve) : resolve())),
    close() {
      isClosed = true
      stop()
    },
  }
}
