/** Who hears of calls: observers, and through `node:diagnostics_channel` tools beside the program, such as `svc dev`. */
import { channel } from 'node:diagnostics_channel'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import type { Logger } from '../../ports/logger.js'

/** Tells each observer. One that throws is logged, and keeps nothing from the others. */
export function tellObservers(
  callObservers: readonly CallObserver[],
  logger: Logger,
  what: (observer: CallObserver) => void,
): void {
  for (const observer of callObservers) {
    try {
      what(observer)
    } catch (cause) {
      logger.error({ err: cause }, 'an observer of calls threw')
    }
  }
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
