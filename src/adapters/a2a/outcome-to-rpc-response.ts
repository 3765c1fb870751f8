/** How A2A answers each final state of a call, by the kind of its outcome. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { type AnswerContent, contentOf } from '../../domain/handler-answer.js'
import {
  CALL_REFUSED,
  errorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  PAYMENT_REQUIRED,
  type RpcError,
  type RpcRequest,
  resultText,
} from '../../domain/json-rpc.js'
import { OUTCOMES, type ProblemFinal } from '../../domain/machines/charge.machine.js'
import { LEGACY_PAYMENT_HEADER, PAYMENT_SIGNATURE_HEADER } from '../../domain/x402.js'
import { type ChargeOutcome, endTold } from '../../ports/charge.js'
import type { TransportResponse } from '../../ports/transport.js'
import { type Part, TASK_BY_METHOD, type TaskContent, type TaskContext } from './task-rendering.js'

interface AskedTask extends TaskContext {
  readonly request: RpcRequest
}

export interface Asked extends AskedTask {
  readonly def: EndpointDef
  /** Path of the endpoint that sells the same skill over plain HTTP. */
  readonly restPath: string
}

const JSON_HEADERS = { 'content-type': 'application/json' }

/** The JSON-RPC code of each problem. The map is total: a new final state does not compile without one. */
const RPC_CODES = {
  invalid: INVALID_PARAMS,
  failed: INTERNAL_ERROR,
  unpriced: INTERNAL_ERROR,
  broken: INTERNAL_ERROR,
  timedOut: INTERNAL_ERROR,
  answerNotKept: CALL_REFUSED,
  limited: CALL_REFUSED,
  tooManyUnpaid: CALL_REFUSED,
  inProgress: CALL_REFUSED,
  keyReused: CALL_REFUSED,
  paymentInUse: CALL_REFUSED,
  paymentSpent: CALL_REFUSED,
  superseded: CALL_REFUSED,
  abandoned: CALL_REFUSED,
  unavailable: CALL_REFUSED,
  undecided: CALL_REFUSED,
  uncounted: CALL_REFUSED,
  inDoubt: CALL_REFUSED,
  shuttingDown: CALL_REFUSED,
} as const satisfies Record<ProblemFinal, number>

/** The HTTP status is the one that the endpoint itself would answer: paying clients act on a 402, proxies on a 503. */
export function rpcResponseOf(outcome: ChargeOutcome, asked: Asked): TransportResponse {
  const { kind } = OUTCOMES[outcome.final]
  if (kind === 'answer') return taskResponse(completedTask(outcome), asked, outcome)
  const { final, answer, problem } = outcome
  const status = answer?.status ?? problem?.status ?? OUTCOMES[final].status
  const error = kind === 'payment' ? paymentRequired(outcome, asked) : problemOf(outcome)
  return { status, headers: JSON_HEADERS, body: errorText(asked.request.id, error), outcome }
}

/** The HTTP status is 200, whatever became of the task. */
export function taskResponse(
  task: TaskContent,
  asked: AskedTask,
  outcome: ChargeOutcome | undefined,
): TransportResponse {
  const { id, method } = asked.request
  const body = resultText(id, TASK_BY_METHOD.get(method)!(task, asked))
  return { status: 200, headers: JSON_HEADERS, body, ...(outcome && { outcome }) }
}

function paymentRequired(outcome: ChargeOutcome, { restPath }: Asked): RpcError {
  const { problem, challenge } = outcome
  return {
    code: PAYMENT_REQUIRED,
    message: problem?.message ?? 'Payment required',
    data: {
      protocol: 'x402',
      requirements: challenge?.required,
      retryWith: PAYMENT_SIGNATURE_HEADER,
      alsoAccepted: [LEGACY_PAYMENT_HEADER],
      restEquivalent: restPath,
      ...metadataOf(outcome),
    },
  }
}

function problemOf(outcome: ChargeOutcome): RpcError {
  const { message, ...data } = problemData(outcome)
  return { code: RPC_CODES[outcome.final as ProblemFinal], message, data }
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

function metadataOf(outcome: ChargeOutcome) {
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
