import { expect, it } from 'vitest'
import { createBazaarIndex } from '../../src/facilitator/bazaar-index.js'

const TERMS = { scheme: 'exact', network: 'algorand:x', amount: '10000', asset: '5', payTo: 'A' }
const bazaar = { info: { input: { type: 'http', method: 'GET' } } }
const paymentFor = (url: string) => ({ resource: { url }, extensions: { bazaar } })

function listed(requirements: object, url = 'https://seller.example/work') {
  const index = createBazaarIndex(() => 0)
  const isListed = index.add(paymentFor(url), requirements)
  const { items } = index.list(new URLSearchParams()) as {
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

it('answers with no more than 64 KiB, and tells where the next page begins', () => {
  const index = createBazaarIndex(() => 0)
  const long = { ...bazaar, note: 'x'.repeat(16_000) }
  for (let at = 0; at < 10; at++) {
    const resource = { url: `https://seller.example/work-${at}`, description: '\u0000'.repeat(1_000) }
    expect(index.add({ resource, extensions: { bazaar: long } }, TERMS)).toBe(true)
  }
  const found = new Set<string>()
  for (let offset = 0; offset < 10; ) {
    const page = index.list(new URLSearchParams({ limit: '100', offset: String(offset) })) as {
      readonly items: readonly { readonly resource: string }[]
      readonly pagination: { readonly limit: number }
    }
    expect(JSON.stringify(page).length).toBeLessThan(65_536)
    for (const { resource } of page.items) found.add(resource)
    offset += page.pagination.limit
  }
  expect(found.size).toBe(10)
})

it('lists no resource whose description is longer than half a page', () => {
  const texts = ['description', 'mimeType', 'serviceName', 'iconUrl']
  const resource = Object.fromEntries(texts.map(name => [name, '\u0000'.repeat(1_000)]))
  const payment = { resource: { ...resource, url: 'https://seller.example/' }, extensions: { bazaar } }
  const index = createBazaarIndex(() => 0)
  expect(index.add(payment, { ...TERMS, payTo: '\u0000'.repeat(1_000) })).toBe(true)
  expect(index.add(payment, { ...TERMS, payTo: '\u0000'.repeat(1_000), asset: '\u0000'.repeat(1_000) })).toBe(
    false,
  )
})
