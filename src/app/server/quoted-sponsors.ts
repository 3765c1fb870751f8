/**
 * Which facilitators' sponsors were quoted lately, by any server of this store: a payment for another replica's quote, or for one
 * before a deploy, goes where that quote said. The store of windows keeps it, as a record with an end for each sponsor and span
 * of time, which a server writes in the background when it begins to quote a sponsor, and again while it goes on.
 */
import { LRUCache } from 'lru-cache'
import type { QuotedSponsors } from '../../adapters/facilitator/failover.js'
import type { ChargeDeps, Owner } from '../charge/charge-deps.js'
import { QUOTED_SPONSOR, quotedSponsorId } from '../charge/names-in-stores.js'
import { putWindow, windowsNow } from '../charge/subscription-windows.js'

type QuotedSponsorsOptions = Pick<ChargeDeps, 'subscriptions' | 'clock'> & {
  /** Whose quotes these are: nobody else's record in a store that is shared by mistake counts. */
  readonly owner: Pick<Owner, 'seller'>
  /** For how long a quote can be paid. */
  readonly quoteLifeMs: number
}

/** A payer may name a sponsor that nobody quoted, again and again. */
const ANSWER_KEPT_MS = 2_000
const SPONSORS_MAX = 64

export function quotedSponsors({
  owner,
  subscriptions,
  clock,
  quoteLifeMs,
}: QuotedSponsorsOptions): QuotedSponsors {
  /** One more span is looked at, so that a sponsor counts for two to four lives of a quote. */
  const spanMs = 2 * quoteLifeMs
  const notedMs = new LRUCache<string, number>({ max: SPONSORS_MAX })
  const asked = new LRUCache<string, { readonly atMs: number; readonly answer: Promise<boolean> }>({
    max: SPONSORS_MAX,
  })

  const spanNow = async () => Math.floor((await windowsNow({ subscriptions, clock })) / spanMs)

  async function write(name: string): Promise<void> {
    const span = await spanNow()
    const record = { endpoint: QUOTED_SPONSOR, expiresAtMs: (span + 2) * spanMs }
    await putWindow(subscriptions, quotedSponsorId(owner, name, span), record)
  }

  async function read(name: string): Promise<boolean> {
    const span = await spanNow()
    const ids = [span, span - 1].map(each => quotedSponsorId(owner, name, each))
    const records = await Promise.all(ids.map(async id => subscriptions.get(id)))
    return records.some(record => record?.endpoint === QUOTED_SPONSOR)
  }

  return {
    note(url, sponsor) {
      const name = `${url} ${sponsor}`
      const nowMs = clock.monotonic()
      if (nowMs - (notedMs.get(name) ?? -Infinity) < quoteLifeMs) return
      notedMs.set(name, nowMs)
      // Without it another server asks its payer to read a new quote: no reason to wait, or to ask the store again.
      write(name).catch(() => {})
    },
    wasQuoted(url, sponsor) {
      const name = `${url} ${sponsor}`
      const nowMs = clock.monotonic()
      if (nowMs - (notedMs.get(name) ?? -Infinity) < 2 * quoteLifeMs) return true
      const known = asked.get(name)
      if (known && nowMs - known.atMs < ANSWER_KEPT_MS) return known.answer
      const answer = read(name).catch(() => false)
      asked.set(name, { atMs: nowMs, answer })
      return answer
    },
  }
}
