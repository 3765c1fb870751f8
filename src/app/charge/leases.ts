/**
 * Keeps calls alive in the store while they work: one timer and one trip for all of them.
 *
 * A lease cannot be sized to the work. First it was 15 s for settling, which may take 45 s: a retry took a live call
 * over and was charged again.
 */
import type { ChargeStore, Hold } from '../../ports/charge-store.js'
import type { Logger } from '../../ports/logger.js'

export interface Leases {
  readonly leaseMs: number
  /** Renews this hold from now on. A later hold under the same token takes its place. */
  keep(hold: Hold): void
  /** The call that bears this token has ended, and has closed what it held. */
  drop(token: string): void
  /** It has ended with its outcome open: the next call need not wait for the lease to run out. */
  pass(token: string): void
  close(): void
}

/** Two renewals may be lost before a lease lapses. */
const RENEWALS_A_LEASE = 3
const LAPSES_NOW_MS = 1

export function leasesIn(store: ChargeStore, leaseMs: number, logger: Logger): Leases {
  const holds = new Map<string, Hold>()
  let timer: NodeJS.Timeout | undefined

  async function renew(): Promise<void> {
    if (holds.size === 0) return stop()
    const renewed = [...holds.values()]
    try {
      const ours = await store.renew(renewed, leaseMs)
      for (const [at, hold] of renewed.entries()) if (!ours[at]) lost(hold)
    } catch (cause) {
      logger.warn({ err: cause, calls: renewed.length }, 'the leases of calls at work were not renewed')
    }
  }

  /** The call goes on: its payment may have landed. The store refuses whatever it does to what is not its own any more. */
  function lost(hold: Hold): void {
    if (holds.get(hold.token) !== hold) return
    holds.delete(hold.token)
    logger.warn(
      { call: hold.token, txId: hold.payment },
      'another call took this one over, or it ended meanwhile',
    )
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return {
    leaseMs,
    keep(hold) {
      holds.set(hold.token, hold)
      timer ??= setInterval(() => void renew(), leaseMs / RENEWALS_A_LEASE).unref()
    },
    drop: token => void holds.delete(token),
    pass(token) {
      const hold = holds.get(token)
      holds.delete(token)
      if (hold === undefined) return
      store.renew([hold], LAPSES_NOW_MS).catch(() => {
        // It runs out by itself.
      })
    },
    close: stop,
  }
}
