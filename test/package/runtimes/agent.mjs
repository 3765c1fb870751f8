/** What every runtime sells. Each line that it prints is one fact for the test. */
import { defineAgent, defineEndpoint } from '@svc/sdk'

export const tell = fact => console.log(JSON.stringify(fact))

let runs = 0

// Defined when the module loads: Workers let no code be made later, and a schema's check is such code.
const endpoints = [
  defineEndpoint({
    name: 'shout',
    price: '$0.01',
    input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
    handler: ({ body }) => ({ said: body.text.toUpperCase(), run: ++runs }),
  }),
  defineEndpoint({
    name: 'fail',
    price: '$0.01',
    handler() {
      throw new Error('as planned')
    },
  }),
  defineEndpoint({
    name: 'slow',
    price: '$0.01',
    input: { type: 'object', required: ['until'], properties: { until: { type: 'string' } } },
    async handler({ body, signal }) {
      signal.addEventListener('abort', () => tell({ aborted: 'slow' }))
      return (await fetch(body.until, { signal })).text()
    },
  }),
  // More than sockets take in, so that it cannot have arrived before it is read.
  defineEndpoint({ name: 'large', price: '$0.01', handler: () => 'x'.repeat(30_000_000) }),
]

export const agentOf = payTo =>
  defineAgent({
    name: 'Portable',
    handle: 'portable',
    description: 'The same on every runtime.',
    payTo,
    network: 'testnet',
    endpoints,
  })

export const optionsOf = (sandboxUrl, webhookUrl) => ({
  facilitatorUrl: sandboxUrl,
  algodUrl: sandboxUrl,
  idempotency: { onLostResponse: 'release', maxAnswerBytes: 40_000_000 },
  webhooks: [{ url: webhookUrl, secret: `whsec_${btoa('k'.repeat(32))}` }],
  stores: {
    runs: {
      list: () => [],
      ended: ({ endpoint, final, charged }) => tell({ ended: `${endpoint} ${final} ${charged}` }),
    },
  },
})
