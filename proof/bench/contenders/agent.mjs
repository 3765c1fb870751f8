/** What ours sells: `/work` by the call, `/priced` at a price of the call, `/window` by the month, and whatever a row adds. */
import { defineAgent, defineEndpoint } from '@svc/sdk'
import { BALANCE } from './balance.mjs'
import { config, INPUT, PRICE, work } from './child.mjs'

const sold = { input: INPUT, handler: ({ body }) => work(body) }

/** An endpoint at the usual price. */
export const endpoint = (name, more) => defineEndpoint({ name, price: PRICE, ...sold, ...more })

export function agentOf(others) {
  return defineAgent({
    name: 'Bench',
    handle: 'bench-agent',
    description: 'Says it in capitals',
    payTo: config.payTo,
    network: 'testnet',
    balance: { amounts: [BALANCE], period: '30d' },
    endpoints: [
      endpoint('work'),
      endpoint('priced', { price: () => PRICE }),
      ...others,
      defineEndpoint({
        name: 'calls',
        subscription: { price: PRICE, period: '30d', calls: 1_000_000_000 },
        ...sold,
      }),
      defineEndpoint({ name: 'window', subscription: { price: PRICE, period: '30d' }, ...sold }),
    ],
  })
}

/** How it is served, whatever a row is about. */
export const SERVED = {
  port: 0,
  host: '127.0.0.1',
  facilitatorUrl: config.facilitatorUrl,
  algodUrl: config.facilitatorUrl,
  handleSignals: false,
}
