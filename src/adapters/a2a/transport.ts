/** `POST /a2a`: one method under its two names, over the same charge as every other transport. */

import { bodyInMessage, messageSchema } from '../../domain/body-type.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { isTooLarge } from '../../domain/input-size-limit.js'
import type { Charge } from '../../ports/charge.js'
import type { Clock } from '../../ports/clock.js'
import type { Random } from '../../ports/random.js'
import {
  type IncomingRequest,
  type Transport,
  type TransportResponse,
  Unwritten,
} from '../../ports/transport.js'
import { activated } from './extensions.js'
import {
  errorText,
  type Id,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  idIn,
  METHOD_NOT_FOUND,
  type RpcError,
  RpcRefusal,
  readRequest,
} from './json-rpc.js'
import { rpcResponseOf, TASK_BY_METHOD } from './outcome-to-rpc-response.js'
import { inputOf, readMessage, skillOf } from './read-message.js'

export interface A2aOptions {
  readonly charge: Charge
  readonly endpoints: readonly EndpointDef[]
  /** The largest input of an endpoint that does not set its own limit. */
  readonly bodyBytesMax: number
  readonly extBase: string
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
}

const NOTHING = { kind: 'none' } as const

export function a2aTransport(options: A2aOptions): Transport {
  return {
    async answer(incoming) {
      const extensions = activated(incoming.headers, options.extBase)
      try {
        const answer = await send(incoming, options)
        return { ...answer, headers: { ...answer.headers, ...extensions } }
      } catch (cause) {
        if (!(cause instanceof RpcRefusal)) throw cause
        return refused(400, idIn(incoming.body), cause)
      }
    },
    refuse({ status, code, message, fields }, asked = NOTHING) {
      const rpcCode = status >= 500 ? INTERNAL_ERROR : INVALID_REQUEST
      return refused(status, idIn(asked), { code: rpcCode, message, data: { ...fields, code } })
    },
  }
}

async function send(incoming: IncomingRequest, options: A2aOptions): Promise<TransportResponse> {
  const { charge, endpoints, bodyBytesMax, clock, random } = options
  const request = readRequest(incoming.body)
  if (!TASK_BY_METHOD.has(request.method)) {
    throw new RpcRefusal(METHOD_NOT_FOUND, `The methods are ${[...TASK_BY_METHOD.keys()].join(' and ')}.`)
  }
  const message = readMessage(request.params)
  const def = skillOf(message, endpoints)
  const schema = messageSchema(def.bodyType) ?? def.input
  const input = inputOf(message, schema)
  const body = bodyInMessage(def.bodyType, input)
  if (body === undefined) {
    throw new RpcRefusal(INVALID_PARAMS, `This skill takes ${def.bodyType}.`, { schema })
  }
  if (isTooLarge(def, body, bodyBytesMax)) {
    throw new RpcRefusal(INVALID_PARAMS, 'The input is larger than this skill reads.', {
      code: 'body_too_large',
    })
  }
  const restPath = new URL(`${incoming.baseUrl}/${def.name}`).pathname
  // An endpoint reads its input from the body or, for a GET, from the query. Here the message is both.
  const outcome = await charge.call(def.name, {
    ...incoming,
    streams: false,
    body: { kind: 'read', value: body },
    query: def.method === 'GET' ? input : {},
  })
  try {
    const context = { skill: def.name, contextId: message.contextId, clock, random }
    return rpcResponseOf(outcome, { request, def, restPath, ...context })
  } catch (cause) {
    throw new Unwritten(outcome, cause)
  }
}

function refused(status: number, id: Id | null, error: RpcError): TransportResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: errorText(id, error) }
}
