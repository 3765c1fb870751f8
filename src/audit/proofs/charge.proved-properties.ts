/** The properties of the charge machine, each in an auditor's terms, and checked on every path. */
import type { Charged, Outcome } from '../../domain/machines/charge.machine.js'
import type { Table } from '../../domain/state-machine/transition-table.js'
import { CHARGE_ANSWERS } from './charge.expected-answers.js'
import type { MachinePath, Property } from './check-machine-properties.js'

type Ways = readonly MachinePath[]

/** The steps of a call that ends charged, in this order. If an earlier call with the key died, recovering takes the key. */
const CHARGE = [
  /^opening\.(opened|orphaned)$/,
  /^verifying\.verified$/,
  /^crediting\.credited$/,
  /^delivering\.delivered$/,
  /^recording\.recorded$/,
  /^settling\./,
]
const HANDLING = ['delivering', 'serving']
/** The call asked for the outcome of an earlier call's payment, and could not learn it. */
const EARLIER_IN_DOUBT = ['recovering.undecided', 'recovering.storeDown', 'recovering.broke']
const GIVING_BACK = ['releasing', 'yielding']
/** The steps of a call that a balance is charged for, in this order. */
const COUNT = [/^opening\.(opened|orphaned)$/, /^entitling\.covered$/, /^serving\.measured$/, /^counting\./]
/** States in which money may be on its way: an effect that throws there proves nothing. */
const MONEY_MOVING = ['settling', 'reconciling', 'releasing', 'yielding', 'recovering', 'counting']

/** States that only these steps can reach, and what that means. */
const ONLY_AFTER: Readonly<Record<string, readonly [says: string, steps: readonly string[]]>> = {
  opening: ['nothing is held for a call that was not admitted', ['received.admitted']],
  recovering: ['an earlier call is looked into only where one was found orphaned', ['opening.orphaned']],
  entitling: ['an input that the schema refuses goes no further', ['validating.valid', 'validating.probe']],
  pricing: [
    'nobody is quoted or charged before it is known that no window covers the call',
    ['entitling.uncovered'],
  ],
  verifying: ['nothing is verified that does not meet our terms', ['pricing.presented']],
  settling: ['nothing settles that was not recorded in the step before', ['recording.recorded']],
  crediting: [
    'no credit is taken in the name of a payer whose payment is not verified',
    ['verifying.verified'],
  ],
  reconciling: ['a clear answer is not doubted', ['settling.unknown', 'settling.broke']],
  releasing: [
    'a recorded payment is given back only on a first clear no, or on proof of absence',
    ['settling.refused', 'reconciling.absent'],
  ],
  counting: ['nothing is counted on a balance before the handler said what it cost', ['serving.measured']],
  yielding: [
    'a payment is another server’s only where the first attempt to settle it learnt so',
    ['settling.elsewhere'],
  ],
}

const outcomeOf = ({ final }: MachinePath, table: Table) => table.rows[final]!.meta as unknown as Outcome
const charging = (ways: Ways, table: Table, kind: Charged) =>
  ways.filter(way => outcomeOf(way, table).charged === kind)
const passing = (ways: Ways, ...states: string[]) =>
  ways.filter(way => states.some(state => way.states.includes(state)))
const taking = (ways: Ways, ...steps: string[]) =>
  ways.filter(way => steps.some(step => way.steps.includes(step)))
const lastStep = ({ steps }: MachinePath) => steps.at(-1)!
const stepBefore = ({ states, steps }: MachinePath, state: string) => steps[states.indexOf(state) - 1]
const handled = ({ states }: MachinePath) => states.filter(state => HANDLING.includes(state))
const handledWell = ({ steps }: MachinePath) =>
  HANDLING.some(state => steps.includes(`${state}.delivered`)) || steps.includes('serving.measured')

export const CHARGE_PROPERTIES: readonly Property<MachinePath>[] = [
  {
    says: 'charged yes: opened, verified, credited, delivered, recorded, then settled, in that order',
    some: (ways, table) => charging(ways, table, 'yes'),
    holds: way => inChargeOrder(way),
  },
  {
    says: 'charged maybe by this call: the same order, and the chain was asked in vain or another call holds the payment',
    some: (ways, table) =>
      charging(ways, table, 'maybe').filter(
        way => !isEarlierInDoubt(way) && !way.states.includes('counting'),
      ),
    holds: way => inChargeOrder(way) && ['reconciling', ...GIVING_BACK].includes(way.states.at(-1)!),
  },
  {
    says: 'charged on a balance, or maybe: opened, covered, measured by its handler, then counted, in that order, and no payment moves',
    some: ways => passing(ways, 'counting'),
    holds: (way, table) =>
      inChargeOrder(way, COUNT) &&
      passing([way], 'verifying', 'settling').length === 0 &&
      (outcomeOf(way, table).charged === 'balance') === (lastStep(way) === 'counting.counted'),
  },
  {
    says: 'charged on a balance is only what was counted',
    some: (ways, table) => charging(ways, table, 'balance'),
    holds: way => lastStep(way) === 'counting.counted',
  },
  {
    // The only `maybe` that an earlier call caused. The earlier call had recorded: an orphan is a claim in
    // `settling`, which the claim machine enters by `recorded` alone. This call has only asked so far.
    says: 'charged maybe by an earlier call: found orphaned, nothing of this call’s own was verified, run or settled',
    some: ways => ways.filter(isEarlierInDoubt),
    holds: ({ final, states }) =>
      final === 'undecided' && states.join() === ['received', 'opening', 'recovering'].join(),
  },
  {
    says: 'charged earlier: the recorded answer of a call that is proved to be paid',
    some: (ways, table) => charging(ways, table, 'earlier'),
    holds: way =>
      ['opening.replayable', 'opening.notKept', 'recovering.found', 'recovering.notKept'].includes(
        lastStep(way),
      ),
  },
  {
    says: 'the handler runs once, and only on credit after verification, or covered',
    some: ways => passing(ways, ...HANDLING),
    holds: way =>
      handled(way).length === 1 &&
      stepBefore(way, handled(way)[0]!) ===
        (way.states.includes('delivering') ? 'crediting.credited' : 'entitling.covered'),
  },
  {
    says: 'a handler that failed, timed out, was abandoned or stopped settles nothing and charges nothing',
    some: ways => passing(ways, ...HANDLING).filter(way => !handledWell(way)),
    holds: (way, table) =>
      passing([way], 'settling', 'counting').length === 0 && isFree(outcomeOf(way, table)),
  },
  {
    says: 'after settling began, not charged is said only by a call that gave back what it still held',
    some: (ways, table) => charging(passing(ways, 'settling'), table, 'no'),
    holds: way => GIVING_BACK.some(state => lastStep(way) === `${state}.released`),
  },
  {
    says: 'after one unknown, only the chain decides',
    some: ways => taking(ways, 'settling.unknown', 'settling.broke'),
    holds: ({ states, steps }) =>
      states.at(-1) === 'reconciling' ||
      (states.at(-1) === 'releasing' && steps.includes('reconciling.absent')),
  },
  {
    says: 'a run takes credit and every end says what becomes of it: only a settled one earns, a hang-up or an unsettled one gives nothing back',
    some: ways => taking(ways, 'crediting.credited'),
    holds(way, table) {
      const { charged, credit } = outcomeOf(way, table)
      if (charged === 'yes') return credit === 'earned'
      const isCallers = ['abandoned', 'unsettled', 'paymentSpent', 'inDoubt'].includes(way.final)
      return credit === (isCallers ? 'spent' : 'returned')
    },
  },
  {
    says: 'a subscription’s window is served without price, verification or settlement',
    some: ways => passing(ways, 'serving').filter(way => !way.states.includes('counting')),
    holds: (way, table) =>
      passing([way], 'pricing', 'verifying', 'settling').length === 0 &&
      outcomeOf(way, table).charged === 'no',
  },
  {
    says: 'a window’s call is counted where its handler delivered, and given back at every other end',
    some: ways => passing(ways, 'serving').filter(way => !way.states.includes('counting')),
    holds: (way, table) => outcomeOf(way, table).closing === (handledWell(way) ? 'complete' : 'release'),
  },
  ...Object.entries(ONLY_AFTER).map(
    ([state, [says, steps]]): Property<MachinePath> => ({
      says,
      some: ways => passing(ways, state),
      holds: way => steps.includes(stepBefore(way, state)!),
    }),
  ),
  {
    says: 'a body is checked before anything is priced, verified or run, and that after the key and the payment are held',
    some: ways => passing(ways, 'pricing', 'serving'),
    holds: ({ states }) => {
      const at = ['opening', 'validating', 'entitling'].map(state => states.indexOf(state))
      return at[0]! >= 0 && at[0]! < at[1]! && at[1]! < at[2]!
    },
  },
  {
    says: 'what is held is completed where it is owed, kept where it is in doubt, else released',
    some: ways => ways,
    holds(way, table) {
      const { charged, closing } = outcomeOf(way, table)
      const owed = charged === 'yes' || charged === 'balance' || way.final === 'served'
      return (closing === 'keep') === (charged === 'maybe') && (closing === 'complete') === owed
    },
  },
  {
    says: '402 always means that this call charged nothing, and the quote is the only unpaid one',
    some: (ways, table) => ways.filter(way => outcomeOf(way, table).status === 402),
    holds: (way, table) =>
      outcomeOf(way, table).charged === 'no' &&
      (way.final === 'quoted') === (lastStep(way) === 'pricing.unpaid'),
  },
  {
    says: 'an effect that throws ends the call without a charge, unless money may be on its way',
    some: ways => ways.filter(({ steps }) => steps.some(step => step.endsWith('.broke'))),
    holds(way, table) {
      const broke = way.steps.find(step => step.endsWith('.broke'))!
      if (!MONEY_MOVING.includes(broke.split('.')[0]!))
        return isFree(outcomeOf(way, table)) && lastStep(way) === broke
      return outcomeOf(way, table).code !== 'internal_error'
    },
  },
  {
    says: 'a caller is told what happened: an event that ends a call has one answer, whichever way led to it',
    some: ways => ways,
    holds(way, table) {
      const [state, event] = lastStep(way).split('.') as [string, string]
      return CHARGE_ANSWERS[state]?.[event] === outcomeOf(way, table).code
    },
  },
  {
    says: 'who is in doubt after this call’s own settling is told of this call, else of the earlier one',
    some: ways => ways.filter(({ final }) => final === 'inDoubt' || final === 'undecided'),
    holds: ({ states, final }) => states.includes('settling') === (final === 'inDoubt'),
  },
  {
    says: 'none is longer than thirteen steps, and none comes back',
    some: ways => ways,
    holds: ({ steps, states }) => steps.length <= 13 && new Set(states).size === states.length,
  },
]

export const CHARGE_STATE_PROPERTIES: readonly Property<string>[] = [
  {
    says: 'every state that is not final survives an effect that throws',
    some: (all, table) => all.filter(state => !table.rows[state]!.final),
    holds: (state, table) => 'broke' in table.rows[state]!.on,
  },
  {
    says: 'every state lists exactly the events that its effect may answer',
    some: all => all,
    holds(state, table) {
      const answered = Object.keys(CHARGE_ANSWERS[state] ?? {}).sort()
      return Object.keys(table.rows[state]!.on).sort().join() === answered.join()
    },
  },
]

function isEarlierInDoubt(way: MachinePath): boolean {
  return taking([way], ...EARLIER_IN_DOUBT).length > 0
}

function isFree({ charged, closing }: Outcome): boolean {
  return charged === 'no' && closing === 'release'
}

function inChargeOrder(way: MachinePath, order: readonly RegExp[] = CHARGE): boolean {
  const at = order.map(step => way.steps.findIndex(taken => step.test(taken)))
  const ordered = at.every((place, index) => place >= 0 && (index === 0 || place > at[index - 1]!))
  if (!way.steps.includes('opening.orphaned')) return ordered
  return ordered && way.steps[at[0]! + 1] === 'recovering.absent'
}
