/** A window that counts calls, before routes: how long a call is reserved whose process was killed. */
import express from 'express'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memorySubscriptions } from '../../../src/adapters/memory/subscriptions.js'
import { createGate, type SubscriptionStore } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'
import { ask, pay } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

it('is as long as its route may take, and its stream where it sells one', async () => {
  const reserved: number[] = []
  const memory = memorySubscriptions()
  const store: SubscriptionStore = {
    ...memory,
    take(id, move) {
      reserved.push(move.leaseMs)
      return memory.take(id, move)
    },
  }
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const about = { name: 'Gated', handle: 'counted', description: 'Has routes.', network: 'testnet' } as const
  const gate = createGate(
    { ...about, payTo: seller.address },
    {
      facilitatorUrl,
      algodUrl,
      subscriptions: { store },
      advanced: { timeouts: { leaseMs: 300, creditMs: 50 } },
    },
  )
  closing({ close: () => gate.shutdown() })
  const terms = { subscription: { price: '$0.01', period: '1h', calls: 9 }, timeout: 1_000 } as const
  const app = express()
    .get('/held', gate.express(terms), (_, res) => void res.json('sold'))
    .get('/streamed', gate.express({ ...terms, stream: true, streamTimeout: 2_000 }), (_, res) => {
      res.write('sold')
      res.end()
    })
  const url = await listen(app)
  for (const path of ['/held', '/streamed']) {
    const sale = await pay({ sandbox } as never, url + path, { method: 'GET' })
    const headers = { 'x-svc-subscription': sale.headers.get('x-svc-subscription')! }
    const answer = await ask(url + path, { method: 'GET', headers })
    expect([answer.status, answer.headers.get('x-svc-subscription-remaining')]).toEqual([200, '7'])
    await answer.text()
  }
  expect(reserved).toEqual([1_350, 3_350, 3_350])
})
