/** What is sold here: completions, by the tokens that are asked for. */
import { type AgentDef, defineAgent, defineEndpoint, type Network } from '@svc/sdk'
import type { Model } from './model.ts'
import { PRICE_HINT, PROMPT_CHARS_MAX, priceOf, TOKENS_DEFAULT, TOKENS_MAX, tokensIn } from './price.ts'

export interface AgentParts {
  readonly payTo: string
  readonly network: Network
  readonly model: Model
}

export function agentFor({ payTo, network, model }: AgentParts): AgentDef {
  const complete = defineEndpoint({
    name: 'complete',
    description: `Completes a prompt with the model ${model.name}`,
    price: ({ body }) => priceOf(body.tokens),
    priceHint: PRICE_HINT,
    timeout: 60_000,
    tags: ['text', 'llm'],
    input: {
      type: 'object',
      required: ['prompt'],
      properties: {
        prompt: {
          type: 'string',
          minLength: 1,
          maxLength: PROMPT_CHARS_MAX,
          examples: ['Why is the sky blue?'],
        },
        tokens: {
          type: 'integer',
          minimum: 1,
          maximum: TOKENS_MAX,
          default: TOKENS_DEFAULT,
          description: 'The longest answer, in tokens; it decides the price',
        },
      },
      additionalProperties: false,
    },
    async handler({ body, charge, signal }) {
      const { prompt, tokens = TOKENS_DEFAULT } = body
      const text = await model.complete({ prompt, tokens, signal })
      // On a balance the call costs what it took, at most what was asked for. A call that is paid by itself costs that.
      charge(priceOf(Math.min(tokens, tokensIn(text))))
      return { text, model: model.name }
    },
  })
  return defineAgent({
    name: 'My agent',
    handle: 'my-agent',
    description: 'Completions without an account or a key, priced by the tokens asked for',
    skills: ['text', 'llm'],
    payTo,
    network,
    endpoints: [complete],
    balance: { amounts: ['$1', '$5'], period: '90d' },
  })
}
