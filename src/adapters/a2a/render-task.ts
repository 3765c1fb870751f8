/** Tasks of either generation of A2A, as https://github.com/google-a2a/a2a-x402 v0.1 has them, with payloads of x402 v2. */
import { type AnswerContent, contentOf } from '../../domain/handler.js'
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { PaymentRequired } from '../../domain/x402.js'
import { type ChargeOutcome, endTold } from '../../ports/charge.js'
import type { Clock } from '../../ports/clock.js'
import type { Random } from '../../ports/random.js'

export interface TaskContext {
  readonly skill: string
  /** The task that this message belongs to; `undefined` where the message is a task of its own. */
  readonly taskId?: string
  readonly contextId: string | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
}

/** A part holds one of these: text, data, or bytes. */
type Part =
  | { readonly text: string }
  | { readonly data: object }
  | { readonly base64: string; readonly mediaType: string }

export interface TaskContent {
  readonly state: 'completed' | 'failed' | 'input-required'
  readonly said: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly parts?: readonly Part[]
}

type RenderTask = typeof task03 | typeof task10

/** For `message/send` (0.3). */
export function task03({ state, said, metadata, parts }: TaskContent, context: TaskContext) {
  const { id, contextId, timestamp } = named(context)
  const message = { kind: 'message', messageId: context.random.uuid(), role: 'agent', taskId: id, contextId }
  const status = {
    state,
    timestamp,
    message: { ...message, parts: [{ kind: 'text', text: said }], metadata },
  }
  return { kind: 'task', id, contextId, status, ...artifacts(parts?.map(part03), context) }
}

/** For `SendMessage` (1.0). */
export function task10({ state, said, metadata, parts }: TaskContent, context: TaskContext) {
  const { id, contextId, timestamp } = named(context)
  const message = { messageId: context.random.uuid(), role: 'ROLE_AGENT', taskId: id, contextId }
  const status = {
    state: `TASK_STATE_${state.replace('-', '_').toUpperCase()}`,
    timestamp,
    message: { ...message, parts: [{ text: said }], metadata },
  }
  return { task: { id, contextId, status, ...artifacts(parts?.map(part10), context) } }
}

/** The two names of the one method, and the shape of the task that each expects. */
export const TASK_BY_METHOD: ReadonlyMap<string, RenderTask> = new Map<string, RenderTask>([
  ['message/send', task03],
  ['SendMessage', task10],
])

function named({ clock, random, taskId = random.uuid(), contextId = random.uuid() }: TaskContext) {
  return { id: taskId, contextId, timestamp: new Date(clock.now()).toISOString() }
}

function artifacts(parts: readonly object[] | undefined, { random, skill }: TaskContext) {
  return parts && { artifacts: [{ artifactId: random.uuid(), name: skill, parts }] }
}

function part03(part: Part) {
  if ('text' in part) return { kind: 'text', ...part }
  if ('data' in part) return { kind: 'data', ...part }
  return { kind: 'file', file: { bytes: part.base64, mimeType: part.mediaType } }
}

function part10(part: Part) {
  if ('text' in part) return part
  if ('data' in part) return { ...part, mediaType: 'application/json' }
  return { raw: part.base64, mediaType: part.mediaType }
}

export function waitingTask(required: PaymentRequired): TaskContent {
  return {
    state: 'input-required',
    said: required.error ?? 'Payment required',
    metadata: { 'x402.payment.status': 'payment-required', 'x402.payment.required': required },
  }
}

export function declinedTask(): TaskContent {
  return {
    state: 'failed',
    said: 'The payment was declined. Nothing was done, and nothing was charged.',
    metadata: { 'x402.payment.status': 'payment-rejected' },
  }
}

/** Nothing was charged: the payment was refused or did not settle, or the work failed. */
export function failedTask(outcome: ChargeOutcome): TaskContent {
  const error = problemData(outcome)
  const { code, message } = error
  const network = outcome.challenge?.required.accepts[0]?.network
  const unpaid = { success: false, errorReason: message, transaction: '', network }
  return {
    state: 'failed',
    said: message,
    metadata: {
      'x402.payment.status': 'payment-failed',
      'x402.payment.error': errorOf(outcome, code, message),
      'x402.payment.receipts': [outcome.receipt ?? unpaid],
      'svc.error': error,
    },
  }
}

/** The steps after which a payment has too few rounds left. */
const EXPIRED = new Set(['verifying.expiring', 'delivering.expired', 'recording.expired'])

/** The extension's own words where it has one, else our code in its spelling. */
function errorOf({ final, path }: ChargeOutcome, code: string, message: string): string {
  if (path.some(step => EXPIRED.has(step))) return 'EXPIRED_PAYMENT'
  if (OUTCOMES[final].kind === 'payment') {
    if (/insufficient|underflow|overspend/i.test(message)) return 'INSUFFICIENT_FUNDS'
    if (/signature/i.test(message)) return 'INVALID_SIGNATURE'
    if (final === 'unsettled') return 'SETTLEMENT_FAILED'
  }
  return code.toUpperCase()
}

export function completedTask(outcome: ChargeOutcome): TaskContent {
  const { answer, receipt } = outcome
  return {
    state: 'completed',
    said: receipt
      ? 'Payment settled.'
      : outcome.balance
        ? 'Taken from the balance.'
        : 'Covered by a subscription.',
    metadata: {
      ...(receipt && { 'x402.payment.status': 'payment-completed', 'x402.payment.receipts': [receipt] }),
      ...(outcome.final === 'replayed' && { 'svc.replayed': true }),
      ...metadataOf(outcome),
    },
    parts: partsOf(contentOf(answer!)),
  }
}

export function metadataOf(outcome: ChargeOutcome) {
  const { subscription, balance } = endTold(outcome)
  return {
    ...(subscription && { 'svc.subscription': subscription }),
    ...(balance && { 'svc.balance': balance }),
  }
}

/** Objects and arrays are sent twice: as text for a reader, as data for a program. */
function partsOf(content: AnswerContent): readonly Part[] {
  switch (content.kind) {
    case 'json': {
      const { value, text } = content
      if (typeof value === 'string') return [{ text: value }]
      return typeof value === 'object' && value !== null ? [{ text }, { data: value }] : [{ text }]
    }
    case 'text':
      return [{ text: content.text }]
    case 'bytes':
      return [content]
  }
}

export function problemData(outcome: ChargeOutcome) {
  const { final, problem, answer, retryAfterMs } = outcome
  return {
    ...metadataOf(outcome),
    ...problem?.fields,
    message: problem?.message ?? 'The handler answered with a failure. You were not charged.',
    code: problem?.code ?? OUTCOMES[final].code,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(answer && { status: answer.status, answer: answerData(answer) }),
  }
}

function answerData(answer: NonNullable<ChargeOutcome['answer']>): unknown {
  const content = contentOf(answer)
  if (content.kind === 'json') return content.value
  return content.kind === 'text' ? content.text : content
}
