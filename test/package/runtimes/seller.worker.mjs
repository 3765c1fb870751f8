/** One Durable Object is the seller, so that all requests meet one memory, and timers outlive the request that set them. */
import { DurableObject } from 'cloudflare:workers'
import { createHandler } from '@svc/sdk'
import { agentOf, optionsOf } from './agent.mjs'

export class Seller extends DurableObject {
  #handler = createHandler(agentOf(this.env.PAY_TO), optionsOf(this.env.SANDBOX, this.env.WEBHOOK))

  fetch(request) {
    return this.#handler.fetch(request)
  }
}

export default {
  fetch: (request, { SELLER }) => SELLER.getByName('the only one').fetch(request),
}
