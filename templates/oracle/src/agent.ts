/** What is sold here: prices, each signed and good for a minute. */
import { type AgentDef, defineAgent, defineEndpoint, type Network } from '@svc/sdk'
import type { QuoteSigner } from './signed-quote.ts'
import type { Source } from './source.ts'

const VALID_MS = 60_000

export interface AgentParts {
  readonly payTo: string
  readonly network: Network
  readonly signer: QuoteSigner
  readonly source: Source
}

export function agentFor({ payTo, network, signer, source }: AgentParts): AgentDef {
  const price = defineEndpoint({
    name: 'price',
    description: `The price of a pair, signed by ${signer.address}`,
    price: '$0.005',
    tags: ['price', 'oracle'],
    input: {
      type: 'object',
      required: ['pair'],
      properties: {
        pair: { type: 'string', pattern: '^[A-Z0-9]{2,10}/[A-Z0-9]{2,10}$', examples: ['ALGO/USD'] },
      },
      additionalProperties: false,
    },
    async handler({ body, signal }) {
      const found = await source(body.pair, signal)
      const now = Date.now()
      return signer.sign({
        pair: body.pair,
        price: found,
        at: new Date(now).toISOString(),
        validUntil: new Date(now + VALID_MS).toISOString(),
      })
    },
  })
  return defineAgent({
    name: 'My agent',
    handle: 'my-agent',
    description: 'Prices that can be passed on: signed with an Algorand key',
    skills: ['price', 'oracle'],
    payTo,
    network,
    endpoints: [price],
  })
}
