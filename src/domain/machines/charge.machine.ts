/**
 * One paid call, from arrival to answer: every way in which a caller can be charged is a path of this drawing.
 *
 * Its properties, proved on every path by the tests: the handler runs only after `credited` or `covered`; a charge is
 * possible only through opening, verifying, crediting, delivering, recording and settling, in that order, or on a balance
 * through opening, entitling, serving and counting; a handler that failed, timed out or was abandoned has no way to settling
 * or counting; once settling began, "not charged" is said only by a call
 * that gave back what it still held.
 */
import { type DrawnMachine, type FinalOf, machineOf, tableOf } from '../state-machine/transition-table.js'
import { answer, type Outcome, payment, problem, unknown } from './charge.outcome-types.js'

export type { Charged, Closing, Outcome, OutcomeKind, RunCredit } from './charge.outcome-types.js'

const drawing = {
  id: 'charge',
  initial: 'received',
  states: {
    received: {
      description: 'Is the process taking calls, and is this caller within its rate?',
      entry: 'admit',
      on: {
        admitted: 'opening',
        draining: 'shuttingDown',
        limited: 'limited',
        storeDown: 'unavailable',
        broke: 'broken',
      },
    },
    opening: {
      description: 'Take the idempotency key and the payment in one atomic move.',
      entry: 'open',
      on: {
        opened: 'validating',
        unusableKey: 'invalid',
        replayable: 'replayed',
        notKept: 'answerNotKept',
        inProgress: 'inProgress',
        reused: 'keyReused',
        orphaned: 'recovering',
        inUse: 'paymentInUse',
        spent: 'paymentSpent',
        storeDown: 'unavailable',
        broke: 'broken',
      },
    },
    recovering: {
      description: 'An earlier call stopped while settling: learn from the chain what became of its payment.',
      entry: 'recover',
      on: {
        found: 'replayed',
        notKept: 'answerNotKept',
        absent: 'validating',
        spent: 'paymentSpent',
        moved: 'inProgress',
        undecided: 'undecided',
        storeDown: 'undecided',
        broke: 'undecided',
      },
    },
    validating: {
      description: 'Does the body satisfy the endpoint’s schema? A probe has none to check.',
      entry: 'validate',
      on: { valid: 'entitling', probe: 'entitling', invalid: 'invalid', broke: 'broken' },
    },
    entitling: {
      description:
        'Does a subscription window or a balance cover this call? Take one of the window’s calls, or reserve the price.',
      entry: 'entitle',
      on: {
        covered: 'serving',
        uncovered: 'pricing',
        unpriceable: 'unpriced',
        exhausted: 'tooManyUnpaid',
        storeDown: 'unavailable',
        broke: 'broken',
      },
    },
    pricing: {
      description: 'Work out our terms, and hold a presented payment against them.',
      entry: 'price',
      on: {
        unpaid: 'quoted',
        presented: 'verifying',
        malformed: 'refused',
        mismatched: 'refused',
        unpriceable: 'unpriced',
        broke: 'unpriced',
      },
    },
    verifying: {
      description:
        'The facilitator’s word on the payment, ours on the rounds it has left, and the payer’s own rate.',
      entry: 'verify',
      on: {
        verified: 'crediting',
        refused: 'refused',
        expiring: 'refused',
        spent: 'paymentSpent',
        limited: 'limited',
        unreachable: 'unavailable',
        storeDown: 'unavailable',
        broke: 'unavailable',
      },
    },
    crediting: {
      description:
        'Every run is on credit until it is settled: take one of the payer’s, or wait a little for one.',
      entry: 'credit',
      on: {
        credited: 'delivering',
        exhausted: 'tooManyUnpaid',
        abandoned: 'abandoned',
        stopped: 'shuttingDown',
        storeDown: 'unavailable',
        broke: 'unavailable',
      },
    },
    delivering: {
      description: 'Run the handler and render its answer to bytes. Nothing is charged yet.',
      entry: 'deliver',
      on: {
        delivered: 'recording',
        expired: 'unsettled',
        failed: 'failed',
        timedOut: 'timedOut',
        abandoned: 'abandoned',
        stopped: 'shuttingDown',
        broke: 'failed',
      },
    },
    recording: {
      description: 'Store the answer and what is about to be charged for it. The last exit without a charge.',
      entry: 'record',
      on: {
        recorded: 'settling',
        superseded: 'superseded',
        expired: 'unsettled',
        abandoned: 'abandoned',
        stopped: 'shuttingDown',
        storeDown: 'unavailable',
        broke: 'unavailable',
      },
    },
    settling: {
      description: 'The facilitator submits the payment.',
      tags: 'durable',
      entry: 'settle',
      on: {
        settled: 'settled',
        refused: 'releasing',
        elsewhere: 'yielding',
        unknown: 'reconciling',
        broke: 'reconciling',
      },
    },
    reconciling: {
      description: 'No clear answer: submit the same payment again, then ask the chain.',
      tags: 'durable',
      entry: 'reconcile',
      on: { found: 'settled', absent: 'releasing', unknown: 'inDoubt', broke: 'inDoubt' },
    },
    releasing: {
      description:
        'Nothing landed by this call: give key and payment back. Only a call that still holds both may say “not charged”.',
      entry: 'release',
      on: { released: 'unsettled', superseded: 'inDoubt', storeDown: 'inDoubt', broke: 'inDoubt' },
    },
    yielding: {
      description:
        'Another server had this payment settled, and sells its answer: give key and payment back.',
      entry: 'release',
      on: { released: 'paymentSpent', superseded: 'inDoubt', storeDown: 'inDoubt', broke: 'inDoubt' },
    },
    serving: {
      description: 'Run the handler for a caller whose window or balance is paid.',
      entry: 'serve',
      on: {
        delivered: 'served',
        measured: 'counting',
        failed: 'failed',
        timedOut: 'timedOut',
        abandoned: 'abandoned',
        stopped: 'shuttingDown',
        broke: 'failed',
      },
    },
    counting: {
      description:
        'The handler answered, and said what it cost: count that on the balance and keep the answer, in one move.',
      entry: 'count',
      on: {
        counted: 'counted',
        superseded: 'superseded',
        abandoned: 'abandoned',
        unknown: 'uncounted',
        broke: 'uncounted',
      },
    },

    settled: { type: 'final', meta: answer('settled', 'yes', 'complete', 'earned') },
    served: { type: 'final', meta: answer('served', 'no', 'complete', 'earned') },
    counted: { type: 'final', meta: answer('counted', 'balance', 'complete', 'earned') },
    replayed: { type: 'final', meta: answer('replayed', 'earlier', 'release', 'none') },
    answerNotKept: { type: 'final', meta: { ...problem(409, 'answer_not_kept'), charged: 'earlier' } },
    inDoubt: { type: 'final', meta: unknown('settlement_unknown', 'spent') },
    uncounted: { type: 'final', meta: unknown('charge_unknown', 'spent') },
    undecided: { type: 'final', meta: unknown('settlement_unknown', 'none') },
    quoted: { type: 'final', meta: payment('payment_required') },
    refused: { type: 'final', meta: payment('payment_refused') },
    unsettled: { type: 'final', meta: payment('payment_not_settled', 'spent') },
    invalid: { type: 'final', meta: problem(400, 'invalid_input') },
    inProgress: { type: 'final', meta: problem(409, 'idempotency_in_progress') },
    keyReused: { type: 'final', meta: problem(409, 'idempotency_key_reuse') },
    paymentInUse: { type: 'final', meta: problem(409, 'payment_in_use') },
    paymentSpent: { type: 'final', meta: problem(409, 'payment_spent', 'spent') },
    superseded: { type: 'final', meta: problem(409, 'superseded', 'returned') },
    limited: { type: 'final', meta: problem(429, 'rate_limited') },
    tooManyUnpaid: { type: 'final', meta: problem(429, 'too_many_unpaid_calls') },
    abandoned: { type: 'final', meta: problem(499, 'abandoned', 'spent') },
    failed: { type: 'final', meta: problem(500, 'handler_error', 'returned') },
    unpriced: { type: 'final', meta: problem(500, 'price_unavailable') },
    broken: { type: 'final', meta: problem(500, 'internal_error') },
    unavailable: { type: 'final', meta: problem(503, 'facilitator_unavailable', 'returned') },
    shuttingDown: { type: 'final', meta: problem(503, 'shutting_down', 'returned') },
    timedOut: { type: 'final', meta: problem(504, 'handler_timeout', 'returned') },
  },
} as const

export type ChargeDrawing = typeof drawing
/** A final state of {@link chargeMachine}; {@link OUTCOMES} says what each means. */
export type ChargeFinal = FinalOf<ChargeDrawing>

/** The final states whose callers get a problem. */
export type ProblemFinal = {
  [Final in ChargeFinal]: (typeof drawing)['states'][Final]['meta']['kind'] extends 'problem' ? Final : never
}[ChargeFinal]

/** One paid call, from arrival to answer: every way in which a caller can be charged is a path of it. */
export const chargeMachine: DrawnMachine<ChargeDrawing> = machineOf(drawing)
export const chargeTable = tableOf(chargeMachine)

/** What each final state means to a caller: the one source of every transport's answer. */
export const OUTCOMES: Readonly<Record<ChargeFinal, Outcome>> = Object.fromEntries(
  Object.entries(drawing.states).flatMap(([name, state]) => ('type' in state ? [[name, state.meta]] : [])),
) as Record<ChargeFinal, Outcome>
