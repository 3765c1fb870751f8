/**
 * Several facilitators as one. A second facilitator may verify a payment at no cost, but a second settlement could charge
 * twice. So `verify` goes on to the next facilitator where one does not answer, and `settle` never does.
 *
 * Only its sponsor can complete a sponsored payment: another facilitator would refuse it because of the sponsor, not because
 * of the payer. So it goes to the facilitator whose sponsor was quoted.
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
  /** After this many unanswered verifications in a row a facilitator is paused. */
  readonly failuresMax?: number
  /** How long it is paused. Then one verification tries it again. */
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
 * Facilitators in order of preference. Their time limits add up: give each its share of `verifyTimeoutMs`.
 *
 * A list of several does not settle a payment that no facilitator has verified in this process, such as one found after a
 * crash: an earlier settle may have gone to any of them. The verdict is `unknown`, and the chain decides.
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

  /** The answer of the first facilitator that is not paused; where all are, of the first that answers. */
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
        // The first facilitator that finds a payment valid settles it: a second could settle it once more.
        if (verification.verdict === 'valid' && !byPayment.has(payment)) byPayment.set(payment, member)
        return verification
      }
      return unreachable(causes.join('; '))
    },

    async settle(payment, requirements) {
      const member = byPayment.get(payment) ?? (members.length === 1 ? members[0] : undefined)
      // No breaker: the handler has run, so each attempt to settle is worth it.
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
    // Anyone can send a payload that makes a facilitator fail. Five of them must not pause the facilitator.
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

/** A circuit closes only after a request, so quotes must name this facilitator again when its pause is over. */
function isPaused({ breaker, pausedUntilMs }: Member, clock: Pick<Clock, 'now'>): boolean {
  return breaker.state !== CircuitState.Closed && clock.now() < pausedUntilMs
}

async function ask(
  { facilitator, breaker }: Member,
  payment: PaymentPayload,
  requirements: PaymentRequirements,
): Promise<Verification> {
  // cockatiel would make this request wait for the end of the trial; the next facilitator can answer sooner.
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
