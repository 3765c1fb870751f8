/** Ours as a seller serves it: default options, but for what a row is about. */

import { memoryRateLimit } from '../../dist/src/adapters/memory/rate-limit.js'
import { defineAgent, defineEndpoint, serve } from '../../dist/src/index.js'
import { config, INPUT, PRICE, ready, work } from './child.mjs'

const { facilitatorUrl, payTo, endpoints = 1, options = {} } = config
const sold = { input: INPUT, handler: ({ body }) => work(body) }
const others = Array.from({ length: endpoints - 1 }, (_, at) =>
  defineEndpoint({ name: `work-${at + 1}`, price: PRICE, ...sold }),
)

const agent = defineAgent({
  name: 'Bench',
  handle: 'bench-agent',
  description: 'Says it in capitals',
  payTo,
  network: 'testnet',
  endpoints: [
    defineEndpoint({ name: 'work', price: PRICE, ...sold }),
    ...others,
    defineEndpoint({ name: 'window', subscription: { price: PRICE, period: '30d' }, ...sold }),
  ],
})

serve(agent, {
  port: 0,
  host: '127.0.0.1',
  facilitatorUrl,
  algodUrl: facilitatorUrl,
  handleSignals: false,
  // A minute's window would end, and let somebody in, while a row is measured.
  stores: { rateLimit: memoryRateLimit({ windowMs: 3_600_000 }) },
  onReady: ({ port }) => ready(port),
  ...options,
})
