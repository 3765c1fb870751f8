/** A delivered answer as a completed task. */
import { type AnswerContent, contentOf } from '../../domain/handler-answer-content.js'
import { subscriptionTold } from '../../domain/subscription-terms.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import type { Part, TaskContent } from './task-rendering.js'

export function completedTask(outcome: ChargeOutcome): TaskContent {
  const { answer, receipt } = outcome
  const subscription = subscriptionTold(outcome)
  return {
    state: 'completed',
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
