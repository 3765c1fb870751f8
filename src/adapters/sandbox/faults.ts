/** Which of the facilitator's answers are to go wrong, and how; see `misbehaviour.ts` for what each does on the wire. */
import { SvcError } from '../../domain/errors.js'

export const STAGES = ['supported', 'verify', 'settle'] as const
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
    'pending', // settlement_pending, and nothing settled yet
    'other-tx', // settled, under another transaction's id
    'other-payer',
    'other-network',
  ],
} as const satisfies Record<Stage, readonly string[]>

export type FaultName = (typeof FAULTS_BY_STAGE)[Stage][number]

export interface FaultOptions {
  /** How many answers are spoilt; all of them by default. */
  readonly times?: number
  /** For `late`: how long after the cut the payment lands. */
  readonly delayMs?: number
}

export interface Fault {
  readonly stage: Stage
  readonly behaviour: FaultName
  readonly delayMs: number
  /** Answers left to spoil; `null` for all. */
  readonly times: number | null
}

export interface Faults {
  /** @throws SvcError `invalid_fault` */
  set(stage: Stage, behaviour: FaultName, options?: FaultOptions): void
  /** Without a stage: all of them. */
  clear(stage?: Stage): void
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
