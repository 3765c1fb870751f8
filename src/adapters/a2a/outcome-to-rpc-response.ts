/** How A2A answers each final state of a call, by the kind of its outcome. */

import type { EndpointDef } from '../../domain/endpoint.js'
import { contentOf } from '../../domain/handler-answer-content.js'
import { OUTCOMES, type ProblemFinal } from '../../domain/machines/charge.machine.js'
import { LEGACY_PAYMENT_HEADER, PAYMENT_SIGNATURE_HEADER } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import type { TransportResponse } from '../../ports/transport.js'
import { type TaskContext, taskOf03, taskOf10 } from './answer-to-task.js'
import {
  CALL_REFUSED,
  errorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  PAYMENT_REQUIRED,
  type RpcError,
  type RpcRequest,
  resultText,
} from './json-rpc.js'

export interface Asked extends TaskContext {
  readonly request: RpcRequest
  readonly def: EndpointDef
  /** Path of the endpoint that sells the same skill over plain HTTP. */
  readonly restPath: string
}

/** The two names of the one method, and the shape of the task that each expects. */
export const TASK_BY_METHOD: ReadonlyMap<string, typeof taskOf03 | typeof taskOf10> = new Map<
  string,
  typeof taskOf03 | typeof taskOf10
>([
  ['message/send', taskOf03],
  ['SendMessage', taskOf10],
])

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
  inDoubt: CALL_REFUSED,
  shuttingDown: CALL_REFUSED,
} as const satisfies Record<ProblemFinal, number>

/** The HTTP status is the one that the endpoint itself would answer: paying clients act on a 402, proxies on a 503. */
export function rpcResponseOf(outcome: ChargeOutcome, asked: Asked): TransportResponse {
  const { id, method } = asked.request
  const headers = { 'content-type': 'application/json' }
  const { kind } = OUTCOMES[outcome.final]
  if (kind === 'answer') {
    return {
      status: 200,
      headers,
      body: resultText(id, TASK_BY_METHOD.get(method)!(outcome, asked)),
      outcome,
    }
  }
  const { final, answer, problem } = outcome
  const status = answer?.status ?? problem?.status ?? OUTCOMES[final].status
  const error = kind === 'payment' ? paymentRequired(outcome, asked) : problemOf(outcome)
  return { status, headers, body: errorText(id, error), outcome }
}

function paymentRequired({ problem, challenge }: ChargeOutcome, { restPath }: Asked): RpcError {
  return {
    code: PAYMENT_REQUIRED,
    message: problem?.message ?? 'Payment required',
    data: {
      protocol: 'x402',
      requirements: challenge?.required,
      retryWith: PAYMENT_SIGNATURE_HEADER,
      alsoAccepted: [LEGACY_PAYMENT_HEADER],
      restEquivalent: restPath,
    },
  }
}

function problemOf({ final, problem, answer, retryAfterMs }: ChargeOutcome): RpcError {
  return {
    code: RPC_CODES[final as ProblemFinal],
    message: problem?.message ?? 'The handler answered with a failure. You were not charged.',
    data: {
      ...problem?.fields,
      code: problem?.code ?? OUTCOMES[final].code,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(answer && { status: answer.status, answer: answerData(answer) }),
    },
  }
}

function answerData(answer: NonNullable<ChargeOutcome['answer']>): unknown {
  const content = contentOf(answer)
  if (content.kind === 'json') return content.value
  return content.kind === 'text' ? content.text : content
}
