/** One paid route: read the request, let the charge machine walk, say how it ended. */
import type { ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Caller, Charge, ChargeRequest, Presented } from '../../ports/charge.js'
import { render } from './answers.js'
import { readBody } from './body.js'
import { lifecycleHeaders } from './lifecycle-headers.js'
import { clientAddressOf, originOf } from './origin.js'
import { readPayment } from './payment-header.js'
import { HttpRefusal } from './refusal.js'

export interface PaidRouteOptions {
  readonly charge: Charge
  readonly basePath: string
  readonly bodyBytesMax: number
  readonly trustProxyHops: number
}

const NO_BODY: Presented<unknown> = { kind: 'none' }

export function paidRoute(def: EndpointDef, options: PaidRouteOptions) {
  const lifecycle = lifecycleHeaders(def)
  return async (ctx: Context): Promise<void> => {
    ctx.set(lifecycle)
    const body = def.method === 'GET' ? NO_BODY : await readBody(ctx.req, options.bodyBytesMax)
    const outcome = await options.charge.call(requestOf(ctx, def, body, options))
    if (ctx.res.closed) return outcome.handedOver(false)
    ctx.res.once('close', () => outcome.handedOver(ctx.res.writableFinished))
    render(ctx, outcome)
  }
}

function requestOf(
  ctx: Context,
  def: EndpointDef,
  body: Presented<unknown>,
  { basePath, trustProxyHops }: PaidRouteOptions,
): ChargeRequest {
  const headers = ctx.headers as Record<string, string | undefined>
  return {
    endpoint: def.name,
    headers,
    query: ctx.query,
    body,
    payment: readPayment(ctx.headers),
    subscriptionKey: headers['x-svc-subscription'],
    idempotencyKey: idempotencyKeyOf(headers['idempotency-key']),
    baseUrl: originOf(ctx.req) + basePath,
    clientAddress: clientAddressOf(ctx.req, trustProxyHops),
    caller: callerOf(ctx.res),
  }
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

function idempotencyKeyOf(header: string | undefined): string | undefined {
  if (header === undefined || IDEMPOTENCY_KEY.test(header)) return header
  throw new HttpRefusal(
    400,
    'invalid_idempotency_key',
    'An Idempotency-Key is 1 to 255 visible ASCII characters. You were not charged.',
  )
}

function callerOf(res: ServerResponse): Caller {
  return {
    gone: () => res.closed || res.socket?.destroyed !== false,
    onGone(listener) {
      res.once('close', listener)
      return () => res.off('close', listener)
    },
  }
}
