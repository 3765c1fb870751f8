/**
 * Under which key a request of the simulation asks. A payment's `payment-identifier` is a key that the payer made, as a header is: it
 * stands around the signed transaction, so nobody reads it from the chain. Who names a random one gets the window that it bought.
 */
import { expect, it } from 'vitest'
import { askingOf } from '../../proof/simulation/world/world.js'

const ID = 'random-id-for-pair1-of-32-characters'

function keyOf(extensions: object | undefined, headers: Readonly<Record<string, string>> = {}) {
  const payload = { x402Version: 2, payload: {}, ...(extensions && { extensions }) }
  const header = Buffer.from(JSON.stringify(payload)).toString('base64')
  const request = { method: 'POST', target: '/feed', host: 'seller.example', address: '10.0.0.1' } as const
  return askingOf({ ...request, headers: { 'payment-signature': header, ...headers } }, 'act').key
}

it.each([
  ['the id of its payment', { 'payment-identifier': { info: { required: false, id: ID } } }, {}, ID],
  ['its header', undefined, { 'idempotency-key': 'k' }, 'k'],
  [
    'none, where its payment only declares that it may have an id',
    { 'payment-identifier': { info: {} } },
    {},
    undefined,
  ],
  [
    'none, where the id is none that is allowed',
    { 'payment-identifier': { info: { id: 'k' } } },
    {},
    undefined,
  ],
  ['none, as whoever shows what the chain shows', undefined, {}, undefined],
])('a request asks under %s', (_, extensions, headers, key) => {
  expect(keyOf(extensions, headers)).toBe(key)
})
