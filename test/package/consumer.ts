/** What a stranger's project may write against the published types. Compiled by `package.test.ts`, never run. */
import { createServer, defineAgent, defineEndpoint, manifest, SvcClient, SvcError, serve } from '@svc/sdk'
import { type SvcClient as LeanClient, priceOf } from '@svc/sdk/client'
import { startSandbox } from '@svc/sdk/sandbox'

const shout = defineEndpoint({
  name: 'shout',
  price({ body }) {
    // @ts-expect-error: it is asked before there is a body
    body.text.length
    const text: string | undefined = body.text
    return text !== undefined && text.length > 100 ? '$0.02' : '$0.01'
  },
  input: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string' }, times: { type: 'integer' } },
    additionalProperties: false,
  },
  handler({ body, payment, signal, log }) {
    log('shouting', { times: body.times })
    signal.throwIfAborted()
    const text: string = body.text
    const times: number | undefined = body.times
    // @ts-expect-error: the schema has no such property
    body.missing
    // @ts-expect-error: it is a string
    const wrong: number = body.text
    return { text: text.repeat(times ?? 1), paid: payment.amount, wrong }
  },
})

const untyped = defineEndpoint({
  name: 'untyped',
  subscription: { price: '$1', period: '30d' },
  handler({ body }) {
    // @ts-expect-error: without a schema a body is unknown
    body.text
    return null
  },
})

export const bytes = defineEndpoint({ name: 'bytes', price: '$0.01', handler: () => Buffer.from('x') })

// @ts-expect-error: a handler is required
defineEndpoint({ name: 'none', price: '$0.01' })

export const agent = defineAgent({
  name: 'Consumer',
  handle: 'consumer',
  description: 'Compiles.',
  payTo: 'A'.repeat(58),
  endpoints: [shout, untyped],
})

export async function use(): Promise<void> {
  const sandbox = await startSandbox()
  const server = serve(agent, {
    port: 0,
    facilitatorUrl: sandbox.facilitatorUrl,
    idempotency: { onLostResponse: 'replay' },
  })
  const { outcome } = await server.shutdown('done')
  const drained: 'drained' | 'timedOut' = outcome
  createServer(agent).listen(0)
  const client: LeanClient = new SvcClient({ mnemonic: sandbox.wallet.mnemonic, maxPrice: '$0.05' })
  const { data } = await client.call<{ text: string }>('http://localhost/shout', { text: 'a' })
  const usd: number | null = priceOf({ amount: '10000' })
  const urls: string[] = manifest(agent, 'https://agent.example').endpoints.map(({ url }) => url)
  const error = new SvcError('message', 'code', 402, { any: 'detail' })
  console.log(drained, data.text, usd, urls, error.code)
}
