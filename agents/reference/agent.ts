/** The reference agent: it summarizes text, for a cent. */
import { type AgentDef, defineAgent, defineEndpoint, type Network } from '../../src/index.js'
import { MAX_CHARS_DEFAULT, MAX_CHARS_MAX, MAX_CHARS_MIN, summarize } from './summarize.js'

/** Endpoints and health are under it; the manifest answers at the root, too. */
export const BASE_PATH = '/api'

export const summarizeEndpoint = defineEndpoint({
  name: 'summarize',
  description: 'Condenses text into its most telling sentences, whole and in order',
  price: '$0.01',
  tags: ['text'],
  input: {
    type: 'object',
    required: ['text'],
    properties: {
      text: { type: 'string', minLength: 1, description: 'What to condense' },
      max: {
        type: 'number',
        minimum: MAX_CHARS_MIN,
        maximum: MAX_CHARS_MAX,
        default: MAX_CHARS_DEFAULT,
        description: 'Length of the summary in characters, at most',
      },
    },
  },
  handler: ({ body }) => {
    const summary = summarize(body.text, body.max)
    return { summary, chars: summary.length }
  },
})

export function referenceAgent({ payTo, network }: { payTo: string; network: Network }): AgentDef {
  return defineAgent({
    name: 'Reference agent',
    handle: 'reference-agent',
    description: 'Text tools that any agent can buy, a request at a time',
    skills: ['x402', 'text'],
    payTo,
    network,
    endpoints: [summarizeEndpoint],
  })
}
