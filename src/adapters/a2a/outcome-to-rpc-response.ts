/** How A2A answers each final state of a call, by the kind of its outcome. */
import {
  CALL_REFUSED,
  errorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  PAYMENT_REQUIRED,
  type RpcError,
  type RpcRequest,
} from '../../domain/json-rpc.js'
import { OUTCOMES, type ProblemFinal } from '../../domain/machines/charge.machine.js'
import { LEGACY_PAYMENT_HEADER, PAYMENT_SIGNATURE_HEADER } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import type { TransportResponse } from '../../ports/transport.js'
import {
  completedTask,
  metadataOf,
  problemData,
  TASK_BY_METHOD,
  type TaskContent,
  type TaskContext,
} from './render-task.js'

interface AskedTask extends TaskContext {
  readonly request: RpcRequest
}

export interface Asked extends AskedTask {
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
  const body = JSON.stringify({ jsonrpc: '2.0', id, result: TASK_BY_METHOD.get(method)!(task, asked) })
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
