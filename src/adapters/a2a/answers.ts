/** How A2A says each way in which a call can end. The map is total: a new final state does not compile without one. */
import { contentOf } from '../../domain/answer-content.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import { LEGACY_PAYMENT_HEADER, PAYMENT_SIGNATURE_HEADER } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import type { DoorAnswer } from '../../ports/door.js'
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
import { type TaskContext, taskOf03, taskOf10 } from './task.js'

export interface Asked extends TaskContext {
  readonly request: RpcRequest
  readonly def: EndpointDef
  /** Path of the endpoint that sells the same over plain HTTP. */
  readonly restPath: string
}

/** The two spellings of the one method, and the shape in which each expects its task. */
export const TASK_BY_METHOD: ReadonlyMap<string, typeof taskOf03 | typeof taskOf10> = new Map<
  string,
  typeof taskOf03 | typeof taskOf10
>([
  ['message/send', taskOf03],
  ['SendMessage', taskOf10],
])

type Tell = (outcome: ChargeOutcome, asked: Asked) => RpcError | 'task'

const completed: Tell = () => 'task'

const TELL = {
  settled: completed,
  served: completed,
  replayed: completed,
  quoted: paymentRequired,
  refused: paymentRequired,
  unsettled: paymentRequired,
  invalid: problem(INVALID_PARAMS),
  failed: problem(INTERNAL_ERROR),
  unpriced: problem(INTERNAL_ERROR),
  broken: problem(INTERNAL_ERROR),
  timedOut: problem(INTERNAL_ERROR),
  answerNotKept: problem(CALL_REFUSED),
  limited: problem(CALL_REFUSED),
  tooManyUnpaid: problem(CALL_REFUSED),
  inProgress: problem(CALL_REFUSED),
  keyReused: problem(CALL_REFUSED),
  paymentInUse: problem(CALL_REFUSED),
  paymentSpent: problem(CALL_REFUSED),
  superseded: problem(CALL_REFUSED),
  abandoned: problem(CALL_REFUSED),
  unavailable: problem(CALL_REFUSED),
  undecided: problem(CALL_REFUSED),
  inDoubt: problem(CALL_REFUSED),
  shuttingDown: problem(CALL_REFUSED),
} as const satisfies Record<ChargeFinal, Tell>

/** HTTP's status is the one that the endpoint itself would answer: paying clients act upon a 402, proxies upon a 503. */
export function answerOf(outcome: ChargeOutcome, asked: Asked): DoorAnswer {
  const { id, method } = asked.request
  const told = TELL[outcome.final](outcome, asked)
  const headers = { 'content-type': 'application/json' }
  if (told === 'task') {
    return {
      status: 200,
      headers,
      body: resultText(id, TASK_BY_METHOD.get(method)!(outcome, asked)),
      outcome,
    }
  }
  const { final, answer, problem } = outcome
  const status = answer?.status ?? problem?.status ?? OUTCOMES[final].status
  return { status, headers, body: errorText(id, told), outcome }
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

function problem(code: number): Tell {
  return ({ final, problem, answer, retryAfterMs }) => {
    return {
      code,
      message: problem?.message ?? 'The handler answered with a failure. You were not charged.',
      data: {
        ...problem?.fields,
        code: problem?.code ?? OUTCOMES[final].code,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(answer && { status: answer.status, answer: answerData(answer) }),
      },
    }
  }
}

function answerData(answer: NonNullable<ChargeOutcome['answer']>): unknown {
  const content = contentOf(answer)
  if (content.kind === 'json') return content.value
  return content.kind === 'text' ? content.text : content
}
