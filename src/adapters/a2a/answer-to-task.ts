/** A delivered answer as a completed task, in the shape of either generation of A2A. */
import { type AnswerContent, contentOf } from '../../domain/handler-answer-content.js'
import { subscriptionTold } from '../../domain/subscription-terms.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import type { Clock } from '../../ports/clock.js'
import type { Random } from '../../ports/random.js'

export interface TaskContext {
  readonly skill: string
  readonly contextId: string | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
}

/** A part holds one of these: text, data, or bytes. */
type Part =
  | { readonly text: string }
  | { readonly data: object }
  | { readonly base64: string; readonly mediaType: string }

/** The answer to `message/send` (0.3). */
export function taskOf03(outcome: ChargeOutcome, context: TaskContext) {
  const { id, contextId, timestamp, said, metadata, parts } = completed(outcome, context)
  const message = { kind: 'message', messageId: context.random.uuid(), role: 'agent', taskId: id, contextId }
  return {
    kind: 'task',
    id,
    contextId,
    status: {
      state: 'completed',
      timestamp,
      message: { ...message, parts: [{ kind: 'text', text: said }], metadata },
    },
    artifacts: [{ artifactId: context.random.uuid(), name: context.skill, parts: parts.map(part03) }],
  }
}

/** The answer to `SendMessage` (1.0). */
export function taskOf10(outcome: ChargeOutcome, context: TaskContext) {
  const { id, contextId, timestamp, said, metadata, parts } = completed(outcome, context)
  const message = { messageId: context.random.uuid(), role: 'ROLE_AGENT', taskId: id, contextId }
  return {
    task: {
      id,
      contextId,
      status: {
        state: 'TASK_STATE_COMPLETED',
        timestamp,
        message: { ...message, parts: [{ text: said }], metadata },
      },
      artifacts: [{ artifactId: context.random.uuid(), name: context.skill, parts: parts.map(part10) }],
    },
  }
}

function completed(outcome: ChargeOutcome, { clock, random, contextId = random.uuid() }: TaskContext) {
  const { answer, receipt } = outcome
  const subscription = subscriptionTold(outcome)
  return {
    id: random.uuid(),
    contextId,
    timestamp: new Date(clock.now()).toISOString(),
    said: receipt ? 'Payment settled.' : 'Covered by a subscription.',
    metadata: {
      ...(receipt && { 'x402.payment.status': 'payment-completed', 'x402.payment.receipts': [receipt] }),
      ...(outcome.final === 'replayed' && { 'svc.replayed': true }),
      ...(subscription && { 'svc.subscription': subscription }),
    },
    parts: partsOf(contentOf(answer!)),
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
