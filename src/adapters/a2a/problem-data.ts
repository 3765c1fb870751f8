/** Why a call has no answer, for programs. */
import { contentOf } from '../../domain/handler-answer-content.js'
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { ChargeOutcome } from '../../ports/charge.js'

export function problemData({ final, problem, answer, retryAfterMs }: ChargeOutcome) {
  return {
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
