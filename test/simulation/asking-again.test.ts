/** Which requests the simulation asks again at the end of an episode. */
import { expect, it } from 'vitest'
import { paidRequests } from '../../proof/simulation/invariants/asking-again.js'
import type { Asking } from '../../proof/simulation/world/truth.js'

function asked({ txId = 'payment', key = 'key', target = '/work', body = '{}', address = 'home' }): Asking {
  const payment = { txId }
  return { endpoint: 'work', key, body, payment, address, request: { target, body } } as unknown as Asking
}

it('each request that brought a payment is asked again once, as it was sent last', () => {
  const [first, second] = [asked({}), asked({})]
  const { payment: _, ...unpaid } = asked({})
  expect(paidRequests([first, unpaid as Asking, second])).toEqual([second])
  expect(paidRequests([first, second])[0]).toBe(second)
})

it.each([
  ['query', { target: '/work?copy=1' }],
  ['body', { body: '{"taskId":"1"}' }],
  ['address', { address: 'away' }],
  ['key', { key: 'other' }],
  ['payment', { txId: 'other' }],
])('one with another %s is another request: it does not stand for the first one', (_, difference) => {
  const [first, other] = [asked({}), asked(difference)]
  expect(paidRequests([first, other])).toEqual([first, other])
})
