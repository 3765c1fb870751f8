/** Serves the agent where the environment says, with the model that it names. */
import { networkFrom, serve } from '@svc/sdk'
import { agentFor } from './agent.ts'
import { modelFrom } from './model.ts'

const { SVC_PAY_TO: payTo, SVC_NETWORK: network } = process.env

if (!payTo) {
  console.error('Set SVC_PAY_TO to the Algorand address to be paid; `npm run dev` needs none.')
  process.exit(1)
}

const model = modelFrom(process.env)
console.log(`model: ${model.name}`)
serve(agentFor({ payTo, network: networkFrom(network), model }), {
  // A caller that lost its answer asks again with the same Idempotency-Key, and gets it without paying again.
  idempotency: { onLostResponse: 'replay' },
})
