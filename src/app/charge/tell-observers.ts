/** Who hears of calls: observers, and through `node:diagnostics_channel` tools beside the program, such as `svc dev`. */
import { channel } from 'node:diagnostics_channel'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import type { Logger } from '../../ports/logger.js'

/** Tells each observer. One that throws or rejects is logged, and keeps nothing from the others. */
export function tellObservers(
  callObservers: readonly CallObserver[],
  logger: Logger,
  what: (observer: CallObserver) => unknown,
): void {
  for (const observer of callObservers)
    new Promise(resolve => resolve(what(observer))).catch((err: unknown) =>
      logger.error({ err }, 'an observer of calls threw'),
    )
}

/** An observer that changed the record of a call would change what the next ones keep: the journal is one of them. */
export function frozen<T>(told: T): T {
  if (typeof told === 'object' && !Object.isFrozen(told)) Object.values(Object.freeze(told)!).forEach(frozen)
  return told
}

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
export const handlerLogged = channel('svc.handler.logged')
