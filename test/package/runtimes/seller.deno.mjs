import { createHandler } from '@svc/sdk'
import { agentOf, optionsOf, tell } from './agent.mjs'

const { fetch } = createHandler(
  agentOf(Deno.env.get('PAY_TO')),
  optionsOf(Deno.env.get('SANDBOX'), Deno.env.get('WEBHOOK')),
)
Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => tell({ ready: port }) }, fetch)
