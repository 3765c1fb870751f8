import { createHandler } from '@svc/sdk'
import { agentOf, optionsOf } from './agent.mjs'

let handler

export default {
  fetch(request, { PAY_TO, SANDBOX }) {
    // Workers forbid timers and requests before the first request has come.
    handler ??= createHandler(agentOf(PAY_TO), optionsOf(SANDBOX))
    return handler.fetch(request)
  },
}
