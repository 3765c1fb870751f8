/** Hangs a door that knows nothing of HTTP on a path. */
import type { Door, DoorAnswer } from '../../ports/door.js'
import type { Logger } from '../../ports/logger.js'
import { type ArrivalOptions, arrivalOf } from './arrival.js'
import { readBody } from './body.js'
import { callHeaders } from './call-headers.js'
import { HttpRefusal } from './refusal.js'
import type { FreeRoute, Incoming } from './routes.js'

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
      const { status, headers, body, outcome } = await answered(incoming, door, options)
      const own = Object.entries(headers).flat()
      return {
        status,
        headers: outcome ? callHeaders(outcome).concat(own) : own,
        body,
        ...(outcome?.handedOver && { handedOver: outcome.handedOver }),
      }
    },
  }
}

async function answered(incoming: Incoming, door: Door, options: MountOptions): Promise<DoorAnswer> {
  try {
    const body = await readBody(incoming.req, options.bodyBytesMax)
    return await door.answer(arrivalOf(incoming, body, options))
  } catch (cause) {
    if (cause instanceof HttpRefusal) return door.refuse(cause)
    options.logger.error({ err: cause }, 'a door broke')
    // It may have broken behind a settlement: nothing is said about the charge that is not known.
    return door.refuse({ status: 500, code: 'internal_error', message: 'Something broke on our side.' })
  }
}
