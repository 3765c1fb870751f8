/** One paid route: read the request, let the charge machine walk, say how it ended. */
import type { Context } from 'koa'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Charge } from '../../ports/charge.js'
import { render } from './answers.js'
import { type ArrivalOptions, arrivalOf } from './arrival.js'
import { handOver } from './call-headers.js'
import { lifecycleHeaders } from './lifecycle-headers.js'

export interface PaidRouteOptions extends ArrivalOptions {
  readonly charge: Charge
}

export function paidRoute(def: EndpointDef, options: PaidRouteOptions) {
  const lifecycle = lifecycleHeaders(def)
  const arrivalOptions = { ...options, bodyBytesMax: def.maxBodyBytes ?? options.bodyBytesMax }
  return async (ctx: Context): Promise<void> => {
    ctx.set(lifecycle)
    const arrival = await arrivalOf(ctx, arrivalOptions)
    const outcome = await options.charge.call({ ...arrival, endpoint: def.name })
    try {
      render(ctx, outcome)
    } catch (cause) {
      outcome.handedOver(false)
      throw cause
    }
    handOver(ctx, outcome)
  }
}
