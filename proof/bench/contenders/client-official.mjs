import { toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { x402Client } from '@x402/core/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { callsOf } from './calls.mjs'
import { config } from './child.mjs'

const scheme = new ExactAvmScheme(toClientAvmSigner(config.secretKey), { algodUrl: config.algodUrl })
const pay = wrapFetchWithPayment(fetch, new x402Client().register('algorand:*', scheme))

callsOf(async ({ url, body }) => {
  const response = await pay(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 200 || !response.headers.get('payment-response')) {
    throw new Error(`answered ${response.status}: ${await response.text()}`)
  }
  await response.json()
})
