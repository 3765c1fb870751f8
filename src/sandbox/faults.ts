/** The faults of the facilitator: which of its answers go wrong, and how; and what it sends for those of the transport. */
import type { ServerResponse } from 'node:http'
import { SvcError } from '../domain/errors.js'
import { refuseUnknown } from '../domain/option-checks.js'
import { json, type Reply } from './serve-http.js'

export const STAGES = ['supported', 'verify', 'settle'] as const
/**
 * A request that a facilitator answers.
 *
 * @useDeclaredType
 */
export type Stage = (typeof STAGES)[number]

/** Faults of any stage. They come before the request is read. */
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
    'late', // cut, and settled after the delay
    'slow-after', // settled, and answered after the delay
    'slow-before', // settled and answered after the delay
    'error-after', // settled, and then answered with an error of its own
    'pending', // settlement_pending, and nothing settled yet
    'other-tx', // settled, under another transaction's id
    'other-payer',
    'other-network',
  ],
} as const satisfies Record<Stage, readonly string[]>

/**
 * A fault of the facilitator. Not every stage has every fault.
 *
 * On the wire: `hang` never answers, `reset` resets the connection, `500`, `429` and `redirect` are statuses, `html` is a
 * web page, `truncated` is half an answer, and `huge` is an answer without an end. In the content: `refuse` says no, `lie`
 * says yes but does nothing, `string-true` and `one` say yes by a value of the wrong type, and `other-payer`,
 * `other-network` and `other-tx` name another payer, network or transaction. Of settling only: `die-before` and `die-after`
 * cut the connection before and after the payment has landed, `late` cuts it and lands the payment after the delay,
 * `slow-before` and `slow-after` answer after the delay and land the payment after it or before it, `error-after` lands the
 * payment and answers `unexpected_settle_error`, and `pending` has not settled yet.
 *
 * @useDeclaredType
 */
export type FaultName = (typeof FAULTS_BY_STAGE)[Stage][number]

/** How often a fault happens, and its delay. */
export interface FaultOptions {
  /** How many answers have the fault. @default all of them */
  readonly times?: number
  /** The delay of `late`, `slow-before` and `slow-after`, in milliseconds, 600000 at most. @default 300 */
  readonly delayMs?: number
}

/** A fault that is set. */
export interface Fault {
  /** The request that it answers. */
  readonly stage: Stage
  /** What the facilitator does. */
  readonly behaviour: FaultName
  /** The delay, in milliseconds. */
  readonly delayMs: number
  /** How many more answers have the fault; `null` for all. */
  readonly times: number | null
}

/** The faults of the sandbox's facilitator, one for each stage. */
export interface Faults {
  /** Sets the fault of a stage. @throws SvcError `invalid_fault`, `invalid_options` */
  set(stage: Stage, behaviour: FaultName, options?: FaultOptions): void
  /** Removes the fault of a stage; without a stage, all faults. */
  clear(stage?: Stage): void
  /** The faults that are set and not used up. */
  list(): readonly Fault[]
}

export interface FaultSource extends Faults {
  take(stage: Stage): Fault | undefined
}

const LATE_MS = 300
const DELAY_MS_MAX = 600_000

export function createFaults(): FaultSource {
  const faults = new Map<Stage, Fault>()
  return {
    set: (stage, behaviour, options = {}) => {
      refuseUnknown(options, ['times', 'delayMs'])
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

/** As a program or the control route sets it. */
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

/** Reads `settle=hang`, or `settle=hang:2` for two times. Commas separate several faults. */
export function parseFaults(text: string): Fault[] {
  return text.split(',').map(part => {
    const [, stage, behaviour, times] = /^([^=]*)=?([^:]*):?(.*)$/s.exec(part.trim()) ?? []
    return readFault({ stage, behaviour, times: times ? Number(/^\d+$/.exec(times)?.[0]) : undefined })
  })
}

function isCount(value: unknown, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max
}

function invalid(message: string): SvcError {
  return new SvcError(message, 'invalid_fault', 400)
}

/** The reply of a transport fault; `undefined` for a fault that changes the content of an answer. */
export function transportFault(behaviour: FaultName): Reply | undefined {
  switch (behaviour) {
    case 'hang':
      return { raw: () => {} }
    case 'reset':
      return { raw: response => response.socket?.resetAndDestroy() }
    case '500':
      return json(500, { error: { code: 'fault', message: 'The sandbox was told to fail' } })
    case 'html':
      return { status: 200, type: 'text/html; charset=utf-8', body: '<!doctype html><title>Welcome</title>' }
    case 'truncated':
      return { raw: truncated }
    case 'huge':
      return { raw: endless }
    case '429':
      return json(429, { error: { code: 'rate_limited', message: 'Slow down' } }, { 'retry-after': '1' })
    case 'redirect':
      return json(307, {}, { location: '/sandbox/elsewhere' })
    default:
      return undefined
  }
}

export const cut: Reply = { raw: response => response.destroy() }

function truncated(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 })
  response.write('{"isValid":true,"success":true,"transaction":"', () => response.destroy())
}

/** Writes as fast as the client reads, until the client closes the connection. */
function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, 0x20)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"isValid":true,"success":true,"padding":"')
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {
      // Writes until the socket's buffer is full; `drain` calls again.
    }
  }
  response.on('drain', more)
  more()
}
