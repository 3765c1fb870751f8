import { serve } from '@svc/sdk'
import { agentOf, optionsOf, tell } from './agent.mjs'

serve(agentOf(process.env.PAY_TO), {
  ...optionsOf(process.env.SANDBOX, process.env.WEBHOOK),
  port: 0,
  host: '127.0.0.1',
  onReady: ({ port }) => tell({ ready: port }),
})
