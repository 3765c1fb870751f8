/** Our server over an official facilitator, once for each way in which such a one lists the network's ids. */
import { afterAll, beforeAll, describe } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { LISTINGS, nameOf, type OfficialFacilitator, officialFacilitator } from '../support/official.js'
import { openSeller, type Seller } from '../support/seller.js'

/** The sellers' own fields, which every party of the protocol must carry and none may mind. */
const ABOUT = {
  serviceName: 'Echoes',
  iconUrl: 'https://echo.example/icon.png',
  merchant: { name: 'Echo', website: 'https://echo.example', categories: ['text'] },
  extra: { tag: 'x402-global-challenge', weight: 2.5, beta: true },
}

let runs = 0
const endpoints = [
  defineEndpoint({
    name: 'echo',
    price: '$0.01',
    tags: ['text'],
    extra: { weight: 3 },
    handler({ body }) {
      runs++
      return { echo: body }
    },
  }),
  defineEndpoint({
    name: 'square',
    method: 'GET',
    price: ({ query }) => `$0.0${query.n}`,
    handler: ({ query }) => ({ square: Number(query.n) ** 2 }),
  }),
  defineEndpoint({
    name: 'broken',
    price: '$0.01',
    handler() {
      throw new Error('no model today')
    },
  }),
]

/** What there is once the tests run. */
export interface Scene {
  readonly listed: (typeof LISTINGS)[number]
  readonly sandbox: Sandbox
  readonly facilitator: OfficialFacilitator
  readonly seller: Seller
  /** How often `echo` has run so far. */
  runs(): number
}

export function describeListings(title: string, tests: (scene: () => Scene) => void): void {
  const listings = LISTINGS.map(listed => ({ listed, names: listed.map(nameOf).join(' and ') }))
  describe.each(listings)(title, ({ listed }) => {
    let scene: Scene
    beforeAll(async () => {
      const sandbox = await startSandbox()
      const facilitator = await officialFacilitator(sandbox, listed)
      const seller = await openSeller(endpoints, { sandbox, facilitatorUrl: facilitator.url, about: ABOUT })
      scene = { listed, sandbox, facilitator, seller, runs: () => runs }
    })
    afterAll(async () => {
      await scene.seller.close()
      await scene.facilitator.close()
      await scene.sandbox.close()
    })
    tests(() => scene)
  })
}
