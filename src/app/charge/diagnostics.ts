/**
 * What tools beside the program may hear of, through `node:diagnostics_channel`: `svc dev` prints it. Nothing is published where
 * nobody listens.
 */
import { channel } from 'node:diagnostics_channel'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { EndedCall } from '../../ports/call-observer.js'

/** A call has ended. */
export interface CallEndedMessage {
  readonly endpoint: EndpointDef
  readonly call: EndedCall
}

/** A handler threw, or returned what is no answer. */
export interface HandlerFailedMessage {
  readonly endpoint: string
  readonly traceId: string
  readonly error: unknown
}

export const callEnded = channel('svc.call.ended')
export const handlerFailed = channel('svc.handler.failed')
