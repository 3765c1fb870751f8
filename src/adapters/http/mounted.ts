/** Hangs a door that knows nothing of HTTP on a path. */
import { unwritten } from '../../domain/unwritten.js'
import type { Presented } from '../../ports/charge.js'
import { type Door, type DoorAnswer, Unwritten } from '../../ports/door.js'
import type { Logger } from '../../ports/logger.js'
import { type ArrivalOptions, arrivalOf } from './arrival.js'
import { readBody } from './body.js'
import { callHeaders } from './call-headers.js'
import { reportUndelivered } from './caller.js'
import { HttpRefusal } from './refusal.js'
import type { Reply } from './reply.js'
import type { FreeRoute } from './routes.js'

export interface MountOptions extends ArrivalOptions {
  readonly logger: Logger
}

/** The route itself is free: what is asked for inside may not be. */
export function mounted(
  path: string,
  method: FreeRoute['method'],
  door: Door,
  options: MountOptions,
): FreeRoute {
  return {
    path,
    method,
    headers: ['Cache-Control', 'no-store'],
    async handle(incoming) {
      let asked: Presented<unknown> | undefined
      const share = options.bodies.open(incoming.req)
      try {
        asked = await readBody(incoming, options.bodyBytesMax, share)
        const answer = await door.answer(arrivalOf(incoming, asked, options))
        const { outcome } = answer
        if (!outcome) return replyOf(answer)
        const instead = () => replyOf({ ...door.refuse(unwritten(outcome), asked), outcome })
        return { ...replyOf(answer), instead }
      } catch (cause) {
        if (cause instanceof Unwritten) reportUndelivered(incoming.res)
        return replyOf(refusalBy(door, cause, asked, options.logger), cause)
      } finally {
        share.close()
      }
    },
  }
}

/** What breaks a door behind a call comes as `Unwritten`, with its outcome; anything else broke before one was made. */
function refusalBy(
  door: Door,
  cause: unknown,
  asked: Presented<unknown> | undefined,
  logger: Logger,
): DoorAnswer {
  if (cause instanceof HttpRefusal) return door.refuse(cause, asked)
  if (!(cause instanceof Unwritten)) {
    logger.error({ err: cause }, 'a door broke')
    return door.refuse(
      { status: 500, code: 'internal_error', message: 'Something broke on our side.' },
      asked,
    )
  }
  const { outcome } = cause
  logger.error({ err: cause.cause, traceId: outcome.traceId }, 'an answer could not be written')
  return { ...door.refuse(unwritten(outcome), asked), outcome }
}

function replyOf({ status, headers, body, outcome }: DoorAnswer, cause?: unknown): Reply {
  const refused = cause instanceof HttpRefusal ? cause.headers : []
  const own = [...Object.entries(headers).flat(), ...refused]
  return { status, headers: outcome ? callHeaders(outcome).concat(own) : own, body }
}
