/** The official server's parts that express and hono share, set up as its documentation says. */
import { ExactAvmScheme } from '@x402/avm/exact/server'
import { HTTPFacilitatorClient, x402ResourceServer } from '@x402/core/server'
import { config, MAX_TIMEOUT_SECONDS, NETWORK, PRICE } from './child.mjs'

const facilitator = new HTTPFacilitatorClient({ url: config.facilitatorUrl })

export const resourceServer = new x402ResourceServer(facilitator).register(NETWORK, new ExactAvmScheme())

export const routes = {
  'POST /work': {
    accepts: {
      scheme: 'exact',
      network: NETWORK,
      payTo: config.payTo,
      price: PRICE,
      maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    },
    description: 'Says it in capitals',
    mimeType: 'application/json',
  },
}
