import { SvcClient } from '@svc/sdk/client'
import { callsOf } from './calls.mjs'
import { config } from './child.mjs'

const client = new SvcClient({
  secretKey: Buffer.from(config.secretKey, 'base64'),
  network: 'testnet',
  algodUrl: config.algodUrl,
  maxPrice: '$0.05',
  maxPerDay: '$1000000',
})

callsOf(async ({ url, body }) => {
  const { payment, warnings } = await client.call(url, body)
  if (!payment || warnings) throw new Error(`not paid as it was asked for: ${JSON.stringify(warnings)}`)
})
