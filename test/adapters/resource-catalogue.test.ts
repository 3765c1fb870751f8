import { expect, it } from 'vitest'
import { createCatalogue } from '../../src/adapters/bazaar/resource-catalogue.js'

const TERMS = { scheme: 'exact', network: 'algorand:x', amount: '10000', asset: '5', payTo: 'A' }
const bazaar = { info: { input: { type: 'http', method: 'GET' } } }
const paymentFor = (url: string) => ({ resource: { url }, extensions: { bazaar } })

function listed(requirements: object, url = 'https://seller.example/work') {
  const catalogue = createCatalogue(() => 0)
  const isListed = catalogue.add(paymentFor(url), requirements)
  const { items } = catalogue.list(new URLSearchParams()) as {
    items: readonly { accepts: readonly object[] }[]
  }
  expect(items.length).toBe(isListed ? 1 : 0)
  return items[0]?.accepts[0]
}

it('lists the terms that clients choose by, and keeps nothing else that a stranger wrote', () => {
  const known = { ...TERMS, maxTimeoutSeconds: 60, extra: { feePayer: 'B' } }
  expect(listed({ ...known, note: 'x'.repeat(200_000), more: [1] })).toEqual(known)
  expect(listed({ ...TERMS, maxTimeoutSeconds: '60', extra: { note: 'x'.repeat(2_000) } })).toEqual(TERMS)
})

it('lists no resource under a URL longer than browsers take', () => {
  expect(listed(TERMS, `https://seller.example/${'x'.repeat(3_000)}`)).toBeUndefined()
})
