/**
 * Renews the leases of running calls in the store: one timer and one request for all of them.
 *
 * A lease cannot be sized to the work: settling may take 45 s. If its lease ended before, a retry would take over a running call
 * and be charged again.
 */
import type { ChargeStore, Hold } from '../../ports/charge-store.js'
import { type Cancel, type Clock, every } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'

export type Leases = ReturnType<typeof leasesIn>

interface Kept {
  readonly hold: Hold
  /** When the lease was last taken or renewed. The store's own moment is later. */
  sinceMs: number
}

/** Two renewals may be lost before a lease lapses. */
const RENEWALS_A_LEASE = 3
const LAPSES_NOW_MS = 1

export function leasesIn(
  store: ChargeStore,
  leaseMs: number,
  logger: Logger,
  clock: Pick<Clock, 'monotonic' | 'after'>,
) {
  const kept = new Map<string, Kept>()
  let stopRenewing: Cancel | undefined

  async function renew(): Promise<void> {
    if (kept.size === 0) return stop()
    const renewed = [...kept.values()]
    const sinceMs = clock.monotonic()
    const holds = renewed.map(({ hold }) => hold)
    try {
      const ours = await store.renew(holds, leaseMs)
      for (const [at, one] of renewed.entries()) {
        if (ours[at]) one.sinceMs = sinceMs
        else lost(one)
      }
    } catch (cause) {
      logger.warn({ err: cause, calls: renewed.length }, 'the leases of calls at work were not renewed')
    }
  }

  /** The call goes on, because its payment may have landed. The store refuses its moves on anything that it no longer holds. */
  function lost(one: Kept): void {
    const { token, payment } = one.hold
    if (kept.get(token) !== one) return
    kept.delete(token)
    logger.warn({ call: token, txId: payment }, 'another call took this one over, or it ended meanwhile')
  }

  function stop(): void {
    stopRenewing?.()
    stopRenewing = undefined
  }

  return {
    leaseMs,
    /**
     * Renews this hold from now on. A later hold under the same token takes its place.
     *
     * @param sinceMs by the monotonic clock, no later than the store gave the lease
     */
    keep(hold: Hold, sinceMs: number): void {
      kept.set(hold.token, { hold, sinceMs })
      stopRenewing ??= every(clock, leaseMs / RENEWALS_A_LEASE, () => void renew())
    },
    /** The call with this token has ended, and has closed what it held. */
    drop: (token: string) => void kept.delete(token),
    /** The call has ended and its payment's outcome is unknown: the next call need not wait until the lease ends. */
    pass(token: string): void {
      const one = kept.get(token)
      kept.delete(token)
      if (one === undefined) return
      // If this is lost, the lease ends by itself. A seller's own store may throw.
      const lapse = async () => store.renew([one.hold], LAPSES_NOW_MS)
      lapse().catch(() => {})
    },
    /** Whether another call may hold what this token held: the lease was not renewed in time, or there is none. */
    mayHaveLapsed(token: string): boolean {
      const one = kept.get(token)
      return one === undefined || clock.monotonic() - one.sinceMs >= leaseMs
    },
    close: stop,
  }
}
