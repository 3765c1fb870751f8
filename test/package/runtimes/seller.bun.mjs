import { createHandler } from '@svc/sdk'
import { agentOf, optionsOf, tell } from './agent.mjs'

const { fetch } = createHandler(
  agentOf(process.env.PAY_TO),
  optionsOf(process.env.SANDBOX, process.env.WEBHOOK),
)
const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
tell({ ready: port })
