/** What is sold here, and for how much. */
import { type AgentDef, defineAgent, defineEndpoint, type Network } from '@svc/sdk'

const echo = defineEndpoint({
  name: 'echo',
  description: 'Says what it was told',
  price: '$0.01',
  input: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string', minLength: 1, maxLength: 10_000, examples: ['hello'] } },
    additionalProperties: false,
  },
  // It runs once the payment is verified; when it throws, nothing is charged.
  handler: ({ body }) => ({ text: body.text }),
})

export function agentFor({ payTo, network }: { payTo: string; network: Network }): AgentDef {
  return defineAgent({
    name: 'My agent',
    handle: 'my-agent',
    description: 'Says what it was told',
    payTo,
    network,
    endpoints: [echo],
  })
}
