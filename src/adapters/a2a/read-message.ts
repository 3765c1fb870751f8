/** Reads a message of either generation of A2A: the skill that it asks for, and the input in its parts. */
import { textToBase64 } from '../../domain/bytes.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import {
  CONTENT_TYPE_NOT_SUPPORTED,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  RpcRefusal,
  type RpcRequest,
  readRpc,
  TASK_NOT_FOUND,
} from '../../domain/json-rpc.js'
import { schemaOfMessage } from '../../domain/message-input.js'
import { readProof } from '../../domain/sign-in-with-x.js'
import {
  isRecord,
  memberAt,
  type Parsed,
  type PaymentPayload,
  presentedPayment,
  recordAt,
} from '../../domain/x402.js'
import { TASK_BY_METHOD } from './render-task.js'

export interface Message {
  readonly skillId: string | undefined
  readonly contextId: string | undefined
  /** All text parts, one line each; `undefined` where there are none. */
  readonly text: string | undefined
  /** All data parts, merged; later parts override earlier ones. `undefined` where there are none. */
  readonly data: Readonly<Record<string, unknown>> | undefined
}

/** A message on a task that waits for its payment. Its parts are not read: the task's first message said what to do. */
export interface TaskMessage {
  readonly taskId: string
  readonly says: 'nothing' | 'rejected' | PaymentPayload
}

const CONTEXT_ID_LENGTH_MAX = 256
const TASK_ID_LENGTH_MAX = 256

/** A payment may have been sent for a task that is over, so the answer does not invite to pay again. */
export function unknownTask(): RpcRefusal {
  const message =
    'There is no such task: it never was, it failed, or its time is over. If you sent a payment for it, look the payment up before you pay again.'
  return new RpcRefusal(TASK_NOT_FOUND, message)
}

export function tooLargeForTask(bytesMax: number): RpcRefusal {
  const message = `A task holds an input of at most ${bytesMax} bytes. Send this one without the extension, and pay with PAYMENT-SIGNATURE.`
  return new RpcRefusal(INVALID_PARAMS, message, { code: 'body_too_large' })
}

const STATUS = 'x402.payment.status'
const PAYLOAD = 'x402.payment.payload'

/** What the metadata says about a payment, in the words of the x402 extension. */
function paymentIn(metadata: unknown): TaskMessage['says'] {
  const { [STATUS]: status, [PAYLOAD]: payload } = recordAt(metadata) ?? {}
  if (status === 'payment-rejected') return 'rejected'
  const payment = presentedPayment(payload, `metadata["${PAYLOAD}"]`)
  if (status === 'payment-submitted' && payment.kind === 'read') return payment.value
  if (payment.kind === 'malformed') throw invalid(`${payment.why}.`)
  if (status === undefined && payload === undefined) return 'nothing'
  throw invalid(`${STATUS} is payment-submitted, with an object in ${PAYLOAD}, or payment-rejected.`)
}

export function readRequest(body: Parsed<unknown>): RpcRequest {
  const { id, method, params } = readRpc(body, inputsIn)
  if (id === undefined) {
    const why = 'A notification could not be answered; send the request with an id.'
    throw new RpcRefusal(INVALID_REQUEST, why)
  }
  if (TASK_BY_METHOD.has(method)) return { id, method, params }
  throw new RpcRefusal(METHOD_NOT_FOUND, `The methods are ${[...TASK_BY_METHOD.keys()].join(' and ')}.`)
}

/** The parts are bounded as the skill's input, and the payment as a payment. */
function inputsIn(method: string, params: unknown): readonly unknown[] {
  const { parts, metadata } = (TASK_BY_METHOD.has(method) && recordAt(params, 'message')) || {}
  return [parts, memberAt(metadata, PAYLOAD)]
}

/** The payer's proof in the metadata; `undefined` where there is none. */
export function proofIn(params: unknown) {
  const proof = memberAt(params, 'message', 'metadata', 'x402.sign-in-with-x')
  return proof === undefined ? undefined : readProof(proof)
}

export function readMessage(params: unknown): Message | TaskMessage {
  const message = recordAt(params, 'message')
  if (!message) throw invalid('params.message is missing.')
  const { role, parts, metadata, contextId, taskId } = message
  if (role !== 'user' && role !== 'ROLE_USER') throw invalid('The role of a message is user.')
  const says = paymentIn(metadata)
  if (taskId !== undefined && taskId !== null && taskId !== '') {
    if (typeof taskId === 'string' && taskId.length <= TASK_ID_LENGTH_MAX) return { taskId, says }
    throw unknownTask()
  }
  if (says !== 'nothing') throw invalid('A message about a payment names the task that it is for: taskId.')
  if (!Array.isArray(parts) || parts.length === 0) throw invalid('A message has at least one part.')
  const skillId = memberAt(metadata, 'skillId')
  if (skillId !== undefined && typeof skillId !== 'string') throw invalid('metadata.skillId is a string.')
  const texts: string[] = []
  const data: Record<string, unknown>[] = []
  for (const part of parts) {
    if (isRecord(part) && typeof part.text === 'string') texts.push(part.text)
    else if (isRecord(part) && isRecord(part.data)) data.push(part.data)
    else throw notReadable(part)
  }
  const isId = typeof contextId === 'string' && contextId !== '' && contextId.length <= CONTEXT_ID_LENGTH_MAX
  return {
    skillId,
    contextId: isId ? contextId : undefined,
    text: texts.length > 0 ? texts.join('\n') : undefined,
    // Copying many keys takes as long as parsing them.
    data: data.length > 1 ? data.reduce((merged, each) => Object.assign(merged, each), {}) : data[0],
  }
}

export function skillOf({ skillId }: Message, endpoints: readonly EndpointDef[]): EndpointDef {
  const listed = endpoints.filter(def => def.listed)
  const skill = skillId === undefined ? listed[0] : endpoints.find(({ name }) => name === skillId)
  if (skill) return skill
  const why = skillId === undefined ? 'Name a skill in metadata.skillId.' : 'There is no such skill.'
  throw new RpcRefusal(INVALID_PARAMS, why, { skills: listed.map(({ name }) => name) })
}

/** Text becomes the one required string of the schema, or the bytes; data overrides it. Text that fits no field counts where there is no data. */
export function inputOf({ text, data }: Message, def: EndpointDef): Readonly<Record<string, unknown>> {
  const input = schemaOfMessage(def)
  if (text === undefined) return data ?? {}
  if (input === undefined) return { text, ...data }
  const fields = requiredStrings(input)
  if (fields.length === 1)
    return { [fields[0]!]: def.bodyType === 'bytes' ? textToBase64(text) : text, ...data }
  if (data !== undefined) return data
  const message = 'This skill takes a data part: text alone does not say which field it is.'
  throw new RpcRefusal(INVALID_PARAMS, message, { schema: input })
}

function requiredStrings(schema: unknown): readonly string[] {
  if (!isRecord(schema) || !Array.isArray(schema.required) || !isRecord(schema.properties)) return []
  const { properties } = schema
  return schema.required.filter(name => memberAt(properties[name], 'type') === 'string')
}

function notReadable(part: unknown): RpcRefusal {
  const isFile = isRecord(part) && ['file', 'raw', 'url'].some(key => key in part)
  return isFile
    ? new RpcRefusal(CONTENT_TYPE_NOT_SUPPORTED, 'Skills take text and data, not files.')
    : invalid('A part has a text, or a data object.')
}

function invalid(message: string): RpcRefusal {
  return new RpcRefusal(INVALID_PARAMS, message)
}
