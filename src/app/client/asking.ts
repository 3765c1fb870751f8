/** Asks an endpoint without paying. */

import { isSuccess } from './charged.js'
import { callFailed, networkError } from './errors.js'
import type { HttpReply, HttpRequest } from './http-exchange.js'
import type { RequestOptions } from './http-request.js'
import { deliver } from './retry.js'
import type { Settings } from './settings.js'

export interface Asked {
  /** As it was sent: a GET where the endpoint wanted one. */
  readonly request: HttpRequest
  readonly reply: HttpReply
  readonly attempts: number
}

/** @throws SvcError `network_error`, `aborted` */
export async function ask(
  settings: Settings,
  request: HttpRequest,
  { method }: RequestOptions,
  timeoutMs: number,
): Promise<Asked> {
  const send = async (sent: HttpRequest): Promise<Asked> => {
    const { reply, attempts, cause } = await deliver(settings, sent, timeoutMs)
    if (!reply) throw networkError(sent.url.origin, cause)
    return { request: sent, reply, attempts }
  }
  const asked = await send(request)
  const { status, headers } = asked.reply
  if (status !== 405 || method !== undefined || request.body !== undefined) return asked
  return /\bGET\b/.test(headers.get('allow') ?? '') ? send({ ...request, method: 'GET' }) : asked
}

/** A quote that was found behind a redirect, by a fetch that follows them, is somebody else's. */
export function isQuote({ status, location }: HttpReply): boolean {
  return status === 402 && location === undefined
}

/** @throws SvcError `call_failed` for anything but a success. */
export function succeeded(asked: Asked): Asked {
  const { request, reply } = asked
  if (isSuccess(reply) && !reply.oversized) return asked
  throw callFailed(request.url.origin, reply)
}
