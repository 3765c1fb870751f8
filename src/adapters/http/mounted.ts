/** Hangs a door that knows nothing of HTTP on a path. */
import type { Context } from 'koa'
import type { Door, DoorAnswer } from '../../ports/door.js'
import type { Logger } from '../../ports/logger.js'
import type { FreeRoute } from './app.js'
import { type ArrivalOptions, arrivalOf } from './arrival.js'
import { handOver, setCallHeaders } from './call-headers.js'
import { HttpRefusal } from './refusal.js'

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
    async handle(ctx) {
      const { status, headers, body, outcome } = await answered(ctx, door, options)
      if (outcome) setCallHeaders(ctx, outcome)
      else ctx.set('Cache-Control', 'no-store')
      ctx.set(headers)
      ctx.body = typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
      if (headers['content-type'] === undefined) ctx.remove('Content-Type')
      // Set last: assigning a body has its own idea of the status.
      ctx.status = status
      if (outcome) handOver(ctx, outcome)
    },
  }
}

async function answered(ctx: Context, door: Door, options: MountOptions): Promise<DoorAnswer> {
  try {
    return await door.answer(await arrivalOf(ctx, options))
  } catch (cause) {
    if (cause instanceof HttpRefusal) {
      ctx.set(cause.headers)
      return door.refuse(cause)
    }
    options.logger.error({ err: cause }, 'a door broke')
    // It may have broken behind a settlement: nothing is said about the charge that is not known.
    return door.refuse({ status: 500, code: 'internal_error', message: 'Something broke on our side.' })
  }
}
