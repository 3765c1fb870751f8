/**
 * Several facilitators as one. Asking a second one whether a payment is good costs nothing; asking a second one to settle
 * it could charge twice. So `verify` may move on from one that does not answer, and `settle` never does.
 *
 * A sponsored payment is a group that only its sponsor can complete: another facilitator's "no" would be about the
 * sponsor, not about the payer. It goes to the facilitator whose sponsor was quoted.
 *
 * The breakers are cockatiel's: unlike opossum it counts answers as failures (nothing throws here), has no dependency and
 * no timer of its own, and brings its types. Stay on 3.x while Node 20 is supported.
 */
import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhenResult,
} from 'cockatiel'
import { LRUCache } from 'lru-cache'
import { isRecord, type PaymentPayload, type PaymentRequirements } from '../../domain/x402.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { Facilitator, Supported, Verification } from '../../ports/facilitator.js'

export interface FailoverOptions {
  /** Unanswered verifications in a row after which a facilitator is left alone. */
  readonly failuresMax?: number
  /** For how long; then one verification tries it again. */
  readonly pauseMs?: number
  readonly clock?: Pick<Clock, 'now'>
}

type Unreachable = Extract<Verification, { verdict: 'unreachable' }>

interface Member {
  readonly facilitator: Facilitator
  readonly breaker: CircuitBreakerPolicy
  pausedUntilMs: number
}

const SPONSORS_MAX = 256

/**
 * In order of preference. Waiting adds up: give each its share of the verify budget (`verifyTimeoutMs`).
 *
 * A payment that no facilitator has verified in this process (one found again after a crash) is not settled by a list of
 * several: a settle may have been sent to any of them. The answer is `unknown`, and the chain decides.
 */
export function facilitatorList(
  facilitators: readonly [Facilitator, ...Facilitator[]],
  options: FailoverOptions = {},
): Facilitator {
  const { failuresMax = 5, pauseMs = 30_000, clock = systemClock } = options
  const members = facilitators.map(facilitator => memberOf(facilitator, failuresMax, pauseMs, clock))
  const bySponsor = new LRUCache<string, Member>({ max: SPONSORS_MAX })
  const byPayment = new WeakMap<PaymentPayload, Member>()

  function candidates(payment: PaymentPayload, sponsor: string | undefined): readonly Member[] {
    const bound = byPayment.get(payment) ?? (sponsor === undefined ? undefined : bySponsor.get(sponsor))
    return bound ? [bound] : members
  }

  /** The first that is not being left alone; any of them before none. */
  async function preferred(): Promise<Supported | undefined> {
    const answers = await Promise.all(members.map(member => member.facilitator.supported()))
    let first: Supported | undefined
    let awake: Supported | undefined
    for (const [i, supported] of answers.entries()) {
      if (!supported) continue
      const member = members[i]!
      if (supported.feePayer !== undefined) bySponsor.set(supported.feePayer, member)
      first ??= supported
      if (!isPaused(member, clock)) awake ??= supported
    }
    return awake ?? first
  }

  return {
    url: facilitators[0].url,

    supported() {
      return members.length === 1 ? facilitators[0].supported() : preferred()
    },

    async verify(payment, requirements) {
      const sponsor = sponsorOf(payment)
      const causes: string[] = []
      for (const member of candidates(payment, sponsor)) {
        const verification = await ask(member, payment, requirements)
        if (verification.verdict === 'unreachable') {
          causes.push(`${member.facilitator.url}: ${verification.cause}`)
          continue
        }
        if (verification.verdict === 'refused' && causes.length > 0 && sponsor !== undefined) break
        // The first to vouch for a payment keeps it: a second could only settle what the first may have settled.
        if (verification.verdict === 'valid' && !byPayment.has(payment)) byPayment.set(payment, member)
        return verification
      }
      return unreachable(causes.join('; '))
    },

    async settle(payment, requirements) {
      const member = byPayment.get(payment) ?? (members.length === 1 ? members[0] : undefined)
      // No breaker: the work is done, and whether this payment can still be had is worth every try.
      return member
        ? member.facilitator.settle(payment, requirements)
        : { verdict: 'unknown', cause: 'no facilitator has verified this payment here' }
    },
  }
}

function memberOf(
  facilitator: Facilitator,
  failuresMax: number,
  pauseMs: number,
  clock: Pick<Clock, 'now'>,
): Member {
  const breaker = circuitBreaker(
    // A payload that makes a facilitator fall over costs nothing to send: five of them must not close the shop.
    handleWhenResult(
      result => (result as Verification).verdict === 'unreachable' && (result as Unreachable).down !== false,
    ),
    { halfOpenAfter: pauseMs, breaker: new ConsecutiveBreaker(failuresMax) },
  )
  const member: Member = { facilitator, breaker, pausedUntilMs: 0 }
  breaker.onBreak(() => {
    member.pausedUntilMs = clock.now() + pauseMs
  })
  return member
}

/** An open circuit closes only by being asked, so quotes must come back to it once its pause is over. */
function isPaused({ breaker, pausedUntilMs }: Member, clock: Pick<Clock, 'now'>): boolean {
  return breaker.state !== CircuitState.Closed && clock.now() < pausedUntilMs
}

async function ask(
  { facilitator, breaker }: Member,
  payment: PaymentPayload,
  requirements: PaymentRequirements,
): Promise<Verification> {
  // cockatiel would let this one wait for the trial call's end; the next facilitator can answer sooner.
  if (breaker.state === CircuitState.HalfOpen) return unreachable('being tried again')
  try {
    return await breaker.execute(() => facilitator.verify(payment, requirements))
  } catch (error) {
    if (error instanceof BrokenCircuitError) return unreachable('left alone for a while after failures')
    throw error
  }
}

function sponsorOf({ accepted }: PaymentPayload): string | undefined {
  const extra = isRecord(accepted) ? accepted.extra : undefined
  return isRecord(extra) && typeof extra.feePayer === 'string' ? extra.feePayer : undefined
}

function unreachable(cause: string): Unreachable {
  return { verdict: 'unreachable', cause }
}
