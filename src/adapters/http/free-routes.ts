/** What an agent tells everybody: its manifest and its health. */
import type { AgentDef } from '../../domain/agent.js'
import { manifest, manifestX402 } from '../../domain/manifest.js'
import { CAIP2 } from '../../domain/network.js'
import type { FreeRoute } from './app.js'
import { originOf } from './origin.js'

export interface FreeRoutesOptions {
  readonly agent: AgentDef
  readonly basePath: string
  readonly facilitatorUrl: string
}

export function freeRoutes({ agent, basePath, facilitatorUrl }: FreeRoutesOptions): readonly FreeRoute[] {
  const x402 = manifestX402(agent.network, facilitatorUrl)
  const health = {
    ok: true,
    agent: agent.handle,
    payTo: agent.payTo,
    facilitator: facilitatorUrl,
    network: CAIP2[agent.network],
  }
  return [
    {
      path: '/.well-known/svc.json',
      method: 'GET',
      handle(ctx) {
        ctx.body = { ...manifest(agent, originOf(ctx.req) + basePath), x402 }
      },
    },
    {
      path: '/health',
      method: 'GET',
      handle(ctx) {
        ctx.body = health
      },
    },
  ]
}
