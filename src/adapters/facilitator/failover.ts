/**
 * Several facilitators as one, in the seller's order. The seller chooses among them, and never the payer: a payment goes to the
 * first that is not paused, or to the one whose sponsor was quoted. So `verify` goes on to the next facilitator only where the
 * one before is down by a question of our own: payers choose what a payment contains, and so which payments fail at a host.
 * (First built without that question: five payments that a firewall refused paused a facilitator for everybody, and
 * `accepted.extra.feePayer` sent a payment to a hostile backup.)
 *
 * `settle` never goes on: a second settlement could charge twice.
 */
import { LRUCache } from 'lru-cache'
import type { PaymentPayload } from '../../domain/x402.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { Facilitator, Supported, Verification } from '../../ports/facilitator.js'

export interface ListedFacilitator extends Facilitator {
  /** Asks it now, with nothing of a caller's in the question. Callers at the same time share one question. Never rejects. */
  isUp(): Promise<boolean>
}

/** Which sponsors were quoted lately, by any server of this store. */
export interface QuotedSponsors {
  /** Called for each quote: returns at once, and never throws. */
  note(url: string, sponsor: string): void
  /** `false` where the store does not answer: then the payer reads a new quote. Never rejects. */
  wasQuoted(url: string, sponsor: string): boolean | Promise<boolean>
}

export interface FailoverOptions {
  /** How long a facilitator that is down is left alone. Then a question of our own is asked, not a payer's payment. */
  readonly pauseMs?: number
  readonly clock?: Pick<Clock, 'monotonic'>
  readonly quoted: QuotedSponsors
}

interface Member {
  readonly facilitator: ListedFacilitator
  readonly index: number
  /** Whether it was down when it was last asked. */
  isPaused: boolean
  /** What it said then counts until this moment. */
  askAgainAtMs: number
}

const PAUSE_MS = 30_000
/** For so long a yes to our own question counts: however many payments fail, it is asked once in that time. */
const UP_MS = 1_000
const SPONSORS_MAX = 256

/**
 * Facilitators in order of preference. Their time limits add up: give each its share of `verifyTimeoutMs`. A list of one
 * is that one: it pauses nothing, and nobody asks which of them quoted a sponsor.
 *
 * A list of several does not settle a payment that no facilitator has verified in this process, such as one found after a
 * crash: an earlier settle may have gone to any of them. The verdict is `unknown`, and the chain decides.
 */
export function facilitatorList(
  facilitators: readonly [ListedFacilitator, ...ListedFacilitator[]],
  { pauseMs = PAUSE_MS, clock = systemClock, quoted }: FailoverOptions,
): Facilitator {
  if (facilitators.length === 1) return facilitators[0]
  const members = facilitators.map(
    (facilitator, index): Member => ({ facilitator, index, isPaused: false, askAgainAtMs: -Infinity }),
  )
  const bySponsor = new LRUCache<string, Member>({ max: SPONSORS_MAX })
  const byPayment = new WeakMap<PaymentPayload, Member>()

  async function isDown(member: Member): Promise<boolean> {
    if (clock.monotonic() < member.askAgainAtMs) return member.isPaused
    member.isPaused = !(await member.facilitator.isUp())
    member.askAgainAtMs = clock.monotonic() + (member.isPaused ? pauseMs : UP_MS)
    return member.isPaused
  }

  function isPaused(member: Member): boolean {
    // In the background: nobody's payment waits for it.
    if (member.isPaused) void isDown(member)
    return member.isPaused
  }

  /** Who may be asked about this payment, in order; nobody where the payer chose the sponsor. */
  async function candidates(
    payment: PaymentPayload,
    sponsor: string | undefined,
  ): Promise<readonly Member[]> {
    const bound = byPayment.get(payment)
    if (bound) return [bound]
    const own = sponsor === undefined ? undefined : bySponsor.get(sponsor)
    if (own) {
      const isNext = members.slice(0, own.index).every(isPaused)
      return isNext || (await quoted.wasQuoted(own.facilitator.url, sponsor!)) ? [own] : []
    }
    const awake = members.filter(member => !isPaused(member))
    return awake.length > 0 ? awake : members
  }

  /** The answer of the first facilitator that is not paused; where all are, of the first that answers. */
  async function preferred(): Promise<Supported | undefined> {
    const answers = await Promise.all(members.map(member => member.facilitator.supported()))
    const answered = members.filter(({ index }) => answers[index])
    // Of two that list one sponsor, it is the first's: the other could lay claim to payments that are not for it.
    for (const member of answered.toReversed()) {
      const { feePayer } = answers[member.index]!
      if (feePayer !== undefined) bySponsor.set(feePayer, member)
    }
    const chosen = answered.find(member => !isPaused(member)) ?? answered[0]
    const supported = chosen && answers[chosen.index]
    if (supported?.feePayer !== undefined) quoted.note(chosen!.facilitator.url, supported.feePayer)
    return supported
  }

  return {
    url: facilitators[0].url,

    supported: preferred,

    async verify(payment, requirements, sponsor) {
      const asked = await candidates(payment, sponsor)
      if (asked.length === 0) return NOT_QUOTED
      const causes: string[] = []
      for (const [at, member] of asked.entries()) {
        const verification = await member.facilitator.verify(payment, requirements)
        if (verification.verdict === 'unreachable') {
          causes.push(`${member.facilitator.url}: ${verification.cause}`)
          // What this payment met may be of its own making: whether anybody else is asked, our own question decides.
          const down = verification.down !== false && isDown(member)
          if (at === asked.length - 1 || !(await down)) break
          continue
        }
        if (verification.verdict === 'refused' && causes.length > 0 && sponsor !== undefined) break
        // The first facilitator that finds a payment valid settles it: a second could settle it once more.
        if (verification.verdict === 'valid' && !byPayment.has(payment)) byPayment.set(payment, member)
        return verification
      }
      return { verdict: 'unreachable', cause: causes.join('; ') }
    },

    async settle(payment, requirements) {
      const member = byPayment.get(payment)
      // Paused or not: the handler has run, so each attempt to settle is worth it.
      return member
        ? member.facilitator.settle(payment, requirements)
        : { verdict: 'unknown', cause: 'no facilitator has verified this payment here' }
    },
  }
}

const NOT_QUOTED: Verification = {
  verdict: 'refused',
  reason:
    'The payment names a sponsor of its fee that is not quoted now. Nothing was charged; read the terms again and sign anew',
}
