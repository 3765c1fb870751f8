/** A web standard handler in a host that says no addresses: all its callers would have the same one. */
import { expect, it } from 'vitest'
import { createHandler, defineAgent, defineEndpoint } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { DOUBT, inDoubt, keyed, land, observed, ownershipWorld, SHORT_KEY } from '../support/ownership.js'
import { proving } from '../support/payer-proof.js'
import { signFor } from '../support/seller.js'

const PRICE = 10_000n
const INPUT = { text: 'mine' }

const world = ownershipWorld()

it.each(['memory', 'Redis'])(
  'a host that knows no addresses opens nothing for the same bytes alone: %s',
  async kind => {
    let runs = 0
    const { stores, renewed } = observed(world.STORES[kind]!())
    const { sandbox } = world
    const agent = defineAgent({
      ...{ name: 'Test agent', handle: 'test-agent', description: 'Serves the tests.', network: 'testnet' },
      payTo: sandbox.seller.address,
      endpoints: [defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) })],
    })
    const { facilitatorUrl, algodUrl } = sandbox
    const handler = createHandler(agent, { facilitatorUrl, algodUrl, stores, idempotency: {}, ...DOUBT })
    closing({ close: () => handler.shutdown('test over') })
    const url = 'https://agent.example/work'
    const send = async (headers: object) => {
      const request = new Request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(INPUT),
      })
      const response = await handler.fetch(request)
      const { error, run } = (await response.json()) as { error?: { code: string }; run?: number }
      return error?.code ?? run
    }
    const seller = await world.open(agent.endpoints)
    const before = world.received()
    for (const [at, key] of [{}, keyed(SHORT_KEY)].entries()) {
      const owner = world.payer()
      const payment = await signFor(seller, `${seller.url}/work`, { account: owner.label, body: INPUT })
      expect(await inDoubt(seller, () => send({ ...payment, ...key }))).toBe('settlement_unknown')
      await renewed()
      await land(seller, payment)
      for (const more of [{}, keyed(SHORT_KEY)])
        expect(await send({ ...payment, ...more })).toBe('payment_spent')
      expect(await send({ ...payment, ...key, ...proving(owner, url, payment) })).toBe(at + 1)
    }
    expect([runs, world.received() - before]).toEqual([2, 2n * PRICE])
  },
)
