/** What `svc trigger` plays: each case says what happens, and what the rules promise then. */
import type { FaultName, Stage } from '../sandbox/faults.js'
import type { Answer, Caller } from './caller.js'

export interface Case {
  readonly says: string
  readonly rule: string
  /** What the sandbox's facilitator does meanwhile. */
  readonly fault?: readonly [stage: Stage, behaviour: FaultName, times?: number, delayMs?: number]
  play(caller: Caller): Promise<readonly Answer[]>
  /** How each answer may end: by `answered`, `replayed`, a status or a code. */
  readonly ends: readonly (readonly string[])[]
  /** How often the price may be charged. */
  readonly charges: readonly (0 | 1)[]
}

const FREE = [0] as const
const ONCE = [1] as const
/** A second answer for one payment: repeated where the agent keeps keys, else refused. */
const NO_SECOND_RUN = ['replayed', 'payment_spent', 'payment_in_use', 'idempotency_in_progress'] as const
/** For its payer: kept by default, for two minutes at least. */
const PROVEN = ['replayed', 'payment_spent', 'answer_not_kept'] as const
const HANG_UP_DELAY_MS = 600

async function payOnce(caller: Caller): Promise<readonly Answer[]> {
  return [await caller.send(await caller.pay())]
}

/** Refused before anything could be charged. */
function refused(says: string, play: Case['play'], rule = 'a payment that does not fit buys nothing'): Case {
  return { says, rule, play, ends: [['402']], charges: FREE }
}

export const CASES = {
  unpaid: refused('no payment comes with the call', async caller => [await caller.send()], 'a quote is free'),
  paid: {
    says: 'the quote is paid',
    rule: 'a call that is answered is charged once',
    play: payOnce,
    ends: [['answered']],
    charges: ONCE,
  },
  underpaid: refused('the payment is one unit less than the quote asks', async caller => [
    await caller.send(await caller.pay(({ amount }) => ({ amount: String(BigInt(amount) - 1n) }))),
  ]),
  elsewhere: refused('the payment goes to another account', async caller => [
    await caller.send(await caller.pay(() => ({ payTo: caller.payer }))),
  ]),
  poor: refused('the wallet holds no USDC', async caller => {
    await caller.becomePoor()
    return payOnce(caller)
  }),
  expired: refused('the payment comes after its last valid round', async caller => {
    const payment = await caller.pay()
    await caller.expire()
    return [await caller.send(payment)]
  }),
  malformed: refused('the payment header is no payment', async caller => [
    await caller.send('not a payment'),
  ]),
  replay: {
    says: 'one payment is sent for two calls, one after the other',
    rule: 'one payment buys one answer',
    async play(caller) {
      const payment = await caller.pay()
      return [await caller.send(payment), await caller.send(payment, caller.anotherKey())]
    },
    ends: [['answered'], ['payment_spent']],
    charges: ONCE,
  },
  retry: {
    says: 'the same call is sent again, at last with a proof of its payer: one payment, one key',
    rule: 'a call that is sent again is never charged again',
    async play(caller) {
      const payment = await caller.pay()
      return caller.proven(payment, [await caller.send(payment), await caller.send(payment)])
    },
    ends: [['answered'], NO_SECOND_RUN, PROVEN],
    charges: ONCE,
  },
  'at-once': {
    says: 'one payment is sent for two calls at the same time',
    rule: 'one payment buys one answer',
    async play(caller) {
      const payment = await caller.pay()
      const both = await Promise.all([caller.send(payment), caller.send(payment, caller.anotherKey())])
      return both.sort((a, b) => a.status - b.status)
    },
    ends: [['answered'], NO_SECOND_RUN],
    charges: ONCE,
  },
  'hang-up': {
    says: 'the caller leaves while the payment settles, and asks again, at last with a proof',
    rule: 'a payment that was settled is never charged again, and its answer is not sold twice',
    fault: ['settle', 'slow-before', 1, HANG_UP_DELAY_MS],
    async play(caller) {
      const payment = await caller.pay()
      const left = await caller.leaveWhileSettling(payment)
      return caller.proven(payment, [left, await caller.settled(payment)])
    },
    ends: [['left'], NO_SECOND_RUN, PROVEN],
    charges: ONCE,
  },
  'verify-refused': {
    ...refused('the facilitator refuses the payment', payOnce, 'a refused payment buys nothing'),
    fault: ['verify', 'refuse'],
  },
  'verify-down': {
    says: 'the facilitator fails before anything is charged',
    rule: 'an outage is no refusal: 503, not charged, and no new quote',
    fault: ['verify', '500'],
    play: payOnce,
    ends: [['facilitator_unavailable']],
    charges: FREE,
  },
  'settle-refused': {
    says: 'the facilitator verifies the payment, and refuses to settle it',
    rule: 'an answer that was not paid for does not leave',
    fault: ['settle', 'refuse'],
    play: payOnce,
    ends: [['payment_not_settled', '402']],
    charges: FREE,
  },
  'settle-lost': {
    says: 'the facilitator settles the payment, and dies before it says so',
    rule: 'what was paid for is answered',
    fault: ['settle', 'die-after', 1],
    play: payOnce,
    ends: [['answered']],
    charges: ONCE,
  },
  'settle-never': {
    says: 'the facilitator dies before it settles, until the payment has expired',
    rule: 'what the chain proves absent is not charged',
    fault: ['settle', 'die-before'],
    async play(caller) {
      const answer = caller.send(await caller.pay())
      await caller.untilSettling()
      await caller.expire()
      return [await answer]
    },
    ends: [['payment_not_settled', '402']],
    charges: FREE,
  },
  'settle-unknown': {
    says: 'the facilitator is gone for longer than the agent waits (a minute), and the caller asks again',
    rule: 'after settlement_unknown, the same call gets its answer, or a proof that nothing was charged',
    fault: ['settle', 'die-before'],
    async play(caller) {
      const payment = await caller.pay()
      const first = await caller.send(payment)
      await caller.mend()
      return [first, await caller.settled(payment)]
    },
    ends: [['settlement_unknown'], ['answered', 'replayed', '402']],
    charges: [0, 1],
  },
} as const satisfies Record<string, Case>

export type CaseName = keyof typeof CASES
export const CASE_NAMES = Object.keys(CASES) as CaseName[]
