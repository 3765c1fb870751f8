/** Which of the facilitator's answers are to go wrong, and how; see `misbehaviour.ts` for what each does on the wire. */
import { SvcError } from '../domain/errors.js'

export const STAGES = ['supported', 'verify', 'settle'] as const
/**
 * A question that a facilitator is asked.
 *
 * @useDeclaredType
 */
export type Stage = (typeof STAGES)[number]

/** What any stage can do, before it has looked at the request. */
export const TRANSPORT_FAULTS = [
  'hang', // never answers
  'reset', // the connection is reset
  '500',
  'html', // 200, but a web page
  'truncated', // half of a good answer, then cut
  'huge', // an answer without an end
  '429',
  'redirect',
] as const

/** What a stage can say instead of the truth. */
export const FAULTS_BY_STAGE = {
  supported: [...TRANSPORT_FAULTS, 'refuse', 'other-payer', 'other-network'],
  verify: [...TRANSPORT_FAULTS, 'refuse', 'lie', 'string-true', 'one', 'other-payer'],
  settle: [
    ...TRANSPORT_FAULTS,
    'refuse', // no, and nothing settled
    'lie', // yes, and nothing settled
    'string-true', // settled; `success` is the text "true"
    'one', // settled; `success` is the number 1
    'die-before', // cut, and nothing settled
    'die-after', // settled, then cut
    'late', // cut, and settled a while after
    'slow-after', // settled, and said so a while after
    'slow-before', // settled and said so, both a while after
    'error-after', // settled, and then answered with an error of its own
    'pending', // settlement_pending, and nothing settled yet
    'other-tx', // settled, under another transaction's id
    'other-payer',
    'other-network',
  ],
} as const satisfies Record<Stage, readonly string[]>

/**
 * What a stage can do instead of answering truthfully; not every stage can do everything.
 *
 * On the wire: `hang` never answers, `reset` resets the connection, `500`, `429` and `redirect` are statuses, `html` is a
 * web page, `truncated` half an answer, `huge` one without an end. In words: `refuse` says no, `lie` says yes without
 * having done anything, `string-true` and `one` say yes by a value of the wrong type, `other-payer`, `other-network` and
 * `other-tx` name somebody or something else. Of settling only: `die-before` and `die-after` cut the connection before and
 * after the payment has landed, `late` cuts it and lands the payment a while later, `slow-before` and `slow-after` answer
 * a while later, before and after which the payment lands, `error-after` lands it and answers `unexpected_settle_error`,
 * `pending` has not settled yet.
 *
 * @useDeclaredType
 */
export type FaultName = (typeof FAULTS_BY_STAGE)[Stage][number]

/** How often, and how late. */
export interface FaultOptions {
  /** How many answers are spoilt. @default all of them */
  readonly times?: number
  /** For `late`, `slow-before` and `slow-after`: a while, in milliseconds, 600000 at most. @default 300 */
  readonly delayMs?: number
}

/** A fault that is set. */
export interface Fault {
  /** Where. */
  readonly stage: Stage
  /** What. */
  readonly behaviour: FaultName
  /** How long a while is, in milliseconds. */
  readonly delayMs: number
  /** Answers left to spoil; `null` for all. */
  readonly times: number | null
}

/** How the sandbox's facilitator misbehaves, one fault a stage. */
export interface Faults {
  /**
   * Makes a stage misbehave from now on.
   *
   * @throws SvcError `invalid_fault`
   */
  set(stage: Stage, behaviour: FaultName, options?: FaultOptions): void
  /** Makes a stage behave again; without a stage, all of them. */
  clear(stage?: Stage): void
  /** Those that are set and not used up. */
  list(): readonly Fault[]
}

/** What the facilitator itself uses: each call counts as one spoilt answer. */
export interface FaultSource extends Faults {
  take(stage: Stage): Fault | undefined
}

const LATE_MS = 300
const DELAY_MS_MAX = 600_000

export function createFaults(): FaultSource {
  const faults = new Map<Stage, Fault>()
  return {
    set: (stage, behaviour, options = {}) => {
      faults.set(stage, readFault({ ...options, stage, behaviour }))
    },
    clear: stage => (stage ? void faults.delete(stage) : faults.clear()),
    list: () => [...faults.values()],
    take(stage) {
      const fault = faults.get(stage)
      if (fault?.times === 1) faults.delete(stage)
      else if (fault?.times) faults.set(stage, { ...fault, times: fault.times - 1 })
      return fault
    },
  }
}

/**
 * A fault as a program or the control route gives it.
 *
 * @throws SvcError `invalid_fault`
 */
export function readFault(given: Readonly<Record<string, unknown>>): Fault {
  const { times = null, delayMs = LATE_MS } = given
  const stage = STAGES.find(name => name === given.stage)
  if (!stage) throw invalid(`A fault's stage is one of ${STAGES.join(', ')}`)
  const behaviour = FAULTS_BY_STAGE[stage].find(name => name === given.behaviour)
  if (!behaviour) throw invalid(`At ${stage} a fault is one of ${FAULTS_BY_STAGE[stage].join(', ')}`)
  if (times !== null && !isCount(times, Number.MAX_SAFE_INTEGER))
    throw invalid('times is a whole number from 1')
  if (!isCount(delayMs, DELAY_MS_MAX)) throw invalid(`delayMs is a whole number from 1 to ${DELAY_MS_MAX}`)
  return { stage, behaviour, times, delayMs }
}

/** `settle=hang`, `settle=hang:2` for two times, several with commas. */
export function parseFaults(text: string): Fault[] {
  return text.split(',').map(part => {
    const [, stage, behaviour, times] = /^\s*([^=]+)=([^:]+?)(?::(\d+))?\s*$/.exec(part) ?? []
    return readFault({ stage, behaviour, times: times === undefined ? undefined : Number(times) })
  })
}

function isCount(value: unknown, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max
}

function invalid(message: string): SvcError {
  return new SvcError(message, 'invalid_fault', 400)
}
