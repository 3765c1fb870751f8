/** A quoted message becomes a task that waits; a later message pays or declines it. What is run is the input of the first one. */
import { answerCode } from '../../domain/answer-codes.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { everyName } from '../../domain/endpoint-lifecycle.js'
import { CALL_REFUSED, type RpcRequest, rpcRefused } from '../../domain/json-rpc.js'
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { PaymentPayload } from '../../domain/x402.js'
import { type ChargeOutcome, retryAfterSeconds } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import type { QuotedCall, Tasks } from '../../ports/tasks.js'
import { type IncomingRequest, type TransportResponse, Unwritten } from '../../ports/transport.js'
import { type Asked, rpcResponseOf, taskResponse } from './outcome-to-rpc-response.js'
import { type TaskMessage, tooLargeForTask, unknownTask } from './read-message.js'
import { declinedTask, failedTask, waitingTask } from './render-task.js'

export interface TaskFlow {
  readonly tasks: Tasks
  readonly endpoints: readonly EndpointDef[]
  readonly logger: Logger
  call(
    def: EndpointDef,
    input: QuotedCall['input'],
    incoming: IncomingRequest,
    over: Partial<IncomingRequest>,
  ): Promise<ChargeOutcome>
  /** What an answer to this request needs. */
  asked(def: EndpointDef, about: { readonly contextId: string | undefined; readonly taskId?: string }): Asked
}

export async function keepQuoted(
  flow: TaskFlow,
  call: QuotedCall,
  def: EndpointDef,
  outcome: ChargeOutcome,
  { clientAddress }: IncomingRequest,
): Promise<TransportResponse> {
  const { contextId } = call
  const { request } = flow.asked(def, { contextId })
  return unlessStoreDown(flow, request, async () => {
    const kept = await stored(flow.tasks.keep(call, clientAddress))
    switch (kept.verdict) {
      case 'kept':
        return waiting(flow.asked(def, { contextId, taskId: kept.id }), outcome)
      case 'tooLarge':
        throw tooLargeForTask(kept.bytesMax)
      case 'limited':
        return refused(request, 'rate_limited', { retryAfterMs: kept.retryAfterMs })
      case 'full':
        return refused(request, 'too_many_waiting_tasks', { retryAfterMs: FULL_RETRY_MS })
    }
  })
}

const FULL_RETRY_MS = 10_000
const RETRY_MS = 2_000
const HAS_PAYMENT = 'task_has_payment'

export async function continueTask(
  flow: TaskFlow,
  message: TaskMessage,
  request: RpcRequest,
  incoming: IncomingRequest,
): Promise<TransportResponse> {
  return unlessStoreDown(flow, request, () => {
    if (message.says === 'rejected') return decline(flow, message.taskId, request)
    if (message.says === 'nothing') return ask(flow, message.taskId, request, incoming)
    return pay(flow, message.taskId, message.says, request, incoming)
  })
}

async function decline(flow: TaskFlow, taskId: string, request: RpcRequest): Promise<TransportResponse> {
  const found = await stored(flow.tasks.find(taskId))
  if (found === undefined) throw unknownTask()
  const declined = await stored(flow.tasks.decline(taskId))
  if (declined === 'unknown') throw unknownTask()
  // The payment may have come after the task was looked up.
  if (declined === 'paid')
    return refused(request, HAS_PAYMENT, { txId: (await stored(flow.tasks.find(taskId)))?.paidBy?.txId })
  const { call } = found
  const asked = flow.asked(defOf(flow, call), { contextId: call.contextId, taskId })
  return taskResponse(declinedTask(), asked, undefined)
}

/** Quotes again, for a client that lost the first answer. */
async function ask(
  flow: TaskFlow,
  taskId: string,
  request: RpcRequest,
  incoming: IncomingRequest,
): Promise<TransportResponse> {
  const found = await stored(flow.tasks.find(taskId))
  if (found === undefined) throw unknownTask()
  if (found.paidBy !== undefined) return refused(request, HAS_PAYMENT, found.paidBy)
  const { call } = found
  const def = defOf(flow, call)
  // Without a window's key: a message that only asks again must not run the work.
  const unpaid = { payment: { kind: 'none' }, subscriptionKey: undefined, balanceKey: undefined } as const
  const outcome = await flow.call(def, call.input, incoming, unpaid)
  const asked = flow.asked(def, { contextId: call.contextId, taskId })
  return written(outcome, () =>
    outcome.final === 'quoted' ? waiting(asked, outcome) : rpcResponseOf(outcome, asked),
  )
}

/** The payment or the work failed, and nothing was charged: the task is over. */
const FAILED: ReadonlySet<ChargeFinal> = new Set(['refused', 'unsettled', 'failed', 'timedOut'])

async function pay(
  flow: TaskFlow,
  taskId: string,
  payment: PaymentPayload,
  request: RpcRequest,
  incoming: IncomingRequest,
): Promise<TransportResponse> {
  const taken = await stored(flow.tasks.take(taskId, payment))
  if (taken.verdict === 'unknown') throw unknownTask()
  if (taken.verdict === 'refused') return refused(request, HAS_PAYMENT, taken.paidBy)
  const { call } = taken
  const def = defOf(flow, call)
  const onPaid = () => {
    incoming.onPaid?.()
    void taken.paid()
  }
  const paying = { payment: { kind: 'read', value: payment }, task: taskId, onPaid } as const
  const outcome = await flow.call(def, call.input, incoming, paying)
  const asked = flow.asked(def, { contextId: call.contextId, taskId })
  const { kind, charged } = OUTCOMES[outcome.final]
  if (kind === 'answer' || charged === 'earlier') void taken.completed(outcome.subscription)
  else if (FAILED.has(outcome.final)) {
    if (!(await taken.failed())) return refused(request, 'payment_in_use', { retryAfterMs: RETRY_MS })
    return written(outcome, () => taskResponse(failedTask(outcome), asked, withoutQuote(outcome)))
  }
  return written(outcome, () => rpcResponseOf(outcome, asked))
}

/** A task may outlive the version of the agent that quoted it. */
function defOf({ endpoints }: TaskFlow, { endpoint }: QuotedCall): EndpointDef {
  const def = endpoints.find(({ name, formerly }) => everyName(name, formerly).includes(endpoint))
  if (def === undefined) throw unknownTask()
  return def
}

function waiting(asked: Asked, outcome: ChargeOutcome): TransportResponse {
  return written(outcome, () =>
    taskResponse(waitingTask(outcome.challenge!.required), asked, withoutQuote(outcome)),
  )
}

/** The metadata has the quote. In a header of a 200 it would be read by nobody, and count for the limits of proxies. */
function withoutQuote(outcome: ChargeOutcome): ChargeOutcome {
  return { ...outcome, challenge: undefined }
}

/** What breaks after a call is thrown with the call's end. */
export function written(outcome: ChargeOutcome, write: () => TransportResponse): TransportResponse {
  try {
    return write()
  } catch (cause) {
    throw new Unwritten(outcome, cause)
  }
}

class StoreDown extends Error {}

function stored<T>(move: Promise<T>): Promise<T> {
  return move.catch(cause => {
    throw new StoreDown('the store of tasks does not answer', { cause })
  })
}

/** Only a move of tasks throws `StoreDown`, and none comes after a charge. */
async function unlessStoreDown(
  { logger }: TaskFlow,
  request: RpcRequest,
  answer: () => Promise<TransportResponse>,
): Promise<TransportResponse> {
  try {
    return await answer()
  } catch (cause) {
    if (!(cause instanceof StoreDown)) throw cause
    logger.error({ err: cause.cause }, cause.message)
    return refused(request, 'store_unavailable', { retryAfterMs: RETRY_MS })
  }
}

/** With the status and the words that the code has everywhere. */
function refused(
  { id }: RpcRequest,
  code: string,
  { retryAfterMs, ...fields }: { readonly retryAfterMs?: number; readonly txId?: string | undefined },
): TransportResponse {
  const { status, words: message } = answerCode(code)
  const data = { ...fields, code, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  const answer = rpcRefused(status, id, { code: CALL_REFUSED, message, data })
  if (retryAfterMs === undefined) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': retryAfterSeconds(retryAfterMs) } }
}
