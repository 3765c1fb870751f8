/** Reading a facilitator's index: every shape that is known, and nothing that makes the reader throw. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readIndexPage } from '../../src/bazaar/read-index-page.js'
import { ALGORAND_TESTNET, defineEndpoint, findInBazaar, listBazaar, priceOf } from '../../src/index.js'
import { open, pay } from '../support/seller.js'

const accepts = [{ scheme: 'exact', network: 'algorand:x', amount: '10000', asset: '1', payTo: 'A' }]
const serving = (body: unknown, init?: ResponseInit) => ({
  facilitatorUrl: 'https://facilitator.example/base/',
  fetchImpl: (async () => Response.json(body, init)) as typeof fetch,
})

describe('the index', () => {
  it('lists what was paid for at the sandbox', async () => {
    const seller = await open([
      defineEndpoint({ name: 'echo', description: 'Says it again.', price: '$0.01', handler: () => 1 }),
    ])
    await pay(seller, `${seller.url}/echo`, { body: {} })
    const facilitatorUrl = seller.sandbox.facilitatorUrl
    const listed = await listBazaar({ facilitatorUrl, limit: 1 })
    expect(listed).toMatchObject({
      ok: true,
      resources: [
        { resourceUrl: `${seller.url}/echo`, accepts: [{ amount: '10000' }], description: 'Says it again.' },
      ],
    })
    expect(await findInBazaar('AGAIN', { facilitatorUrl })).toEqual(await listBazaar({ facilitatorUrl }))
    expect(await findInBazaar('nothing like it', { facilitatorUrl })).toEqual({ ok: true, resources: [] })
  })

  it('keeps its other entries beside one that nothing can be made of', async () => {
    const nested = 'a list of lists'
    const deep = '['.repeat(20_000) + ']'.repeat(20_000)
    const thrower = { toString: 1, valueOf: 1 }
    const fine = { resource: 'https://a.example/x', accepts }
    const hostile = [thrower, nested, { deep: nested }].flatMap(value => [
      { ...fine, resource: value },
      { ...fine, lastUpdated: value, tags: [value], description: value, serviceName: value },
      { ...fine, accepts: [{ ...accepts[0], amount: value }] },
      { ...fine, accepts: [{ maxAmountRequired: value }] },
      { ...fine, accepts: [{ ...accepts[0], asset: value, network: value, extra: value }] },
      { ...fine, metadata: value },
    ])
    const text = JSON.stringify({ items: [fine, ...hostile, fine] }).replaceAll(`"${nested}"`, deep)
    const fetchImpl = (async () => new Response(text)) as typeof fetch
    const listed = await listBazaar({ facilitatorUrl: 'https://facilitator.example', fetchImpl })
    if (!listed.ok) throw new Error(listed.error)
    expect([listed.resources[0], listed.resources.at(-1)]).toEqual(
      Array(2).fill({ resourceUrl: fine.resource, accepts }),
    )
    for (const { accepts: terms } of listed.resources) for (const entry of terms) priceOf(entry)
    expect(JSON.stringify(listed.resources)).not.toContain('"amount":"[object')
    expect(priceOf({ amount: '10000', asset: ['10458941'], network: ALGORAND_TESTNET })).toBeNull()
  })

  it('is read in each of its shapes', () => {
    const info = { input: { type: 'http' } }
    const read = (entry: object, envelope = 'items') =>
      readIndexPage({ [envelope]: [{ accepts, ...entry }] })?.resources[0]
    expect(read({ resource: 'https://a.example/x' })).toEqual({ resourceUrl: 'https://a.example/x', accepts })
    expect(read({ url: 'https://a.example/x' }, 'resources')).toEqual({
      resourceUrl: 'https://a.example/x',
      accepts,
    })
    const named = { id: 7, resourceUrl: 'https://a.example/x', method: 'POST', description: 'Says x.' }
    expect(read(named)).toEqual({
      resourceUrl: 'https://a.example/x',
      method: 'POST',
      description: 'Says x.',
      accepts,
    })
    const at = (lastUpdated: unknown) => read({ resource: 'r', lastUpdated })?.lastUpdatedMs
    expect([at(1_700_000_000), at(1_700_000_000_000), at('2023-11-14T22:13:20.000Z')]).toEqual(
      Array(3).fill(1_700_000_000_000),
    )
    expect(at('some day')).toBeUndefined()
    expect(read({ resource: 'r', extensions: { bazaar: { info } }, metadata: {} })?.info).toEqual(info)
    expect(read({ resource: 'r', discoveryInfo: info })?.info).toEqual(info)
    expect(read({ resource: 'r', accepts: [{ ...accepts[0], outputSchema: info }] })?.info).toEqual(info)
    expect(read({ resource: 'r', metadata: info })?.info).toEqual(info)
    expect(read({ resource: 'r', accepts: [{ maxAmountRequired: 5 }] })?.accepts[0]).toEqual({
      maxAmountRequired: 5,
      amount: '5',
    })
    expect(read({ resource: 'r', tags: ['a', 5], serviceName: 'S', type: 'mcp' })).toMatchObject({
      tags: ['a'],
      serviceName: 'S',
      type: 'mcp',
    })
  })

  it('passes over entries that lead nowhere', () => {
    const items = [
      null,
      5,
      {},
      { resource: 'r' },
      { accepts },
      { resource: 'r', accepts: [] },
      { resource: 5, accepts },
    ]
    expect(readIndexPage({ items })).toEqual({ resources: [], entries: items.length })
  })

  it('is read or refused, whatever it is; nothing throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async body => {
        for (const shape of [
          body,
          { items: body },
          { items: [body] },
          { items: [{ resource: body, accepts: [body] }] },
        ]) {
          expect(typeof (await listBazaar(serving(shape))).ok).toBe('boolean')
          expect(typeof (await findInBazaar('x', serving(shape))).ok).toBe('boolean')
        }
      }),
      { numRuns: 100 },
    )
  })

  const failures: [string, Parameters<typeof listBazaar>[0]][] = [
    ['an error', serving({}, { status: 500 })],
    ['a redirect', serving({}, { status: 302, headers: { location: 'https://b.example' } })],
    ['no index', serving({ hello: 1 })],
    ['a list', serving([])],
    ['no answer', { fetchImpl: () => Promise.reject(new Error('down')) }],
    [
      'a fetch that throws',
      {
        fetchImpl: (() => {
          throw new Error('x')
        }) as typeof fetch,
      },
    ],
    ['a facilitator that is no URL', { facilitatorUrl: 'facilitator' }],
    ['a limit of 0', { limit: 0 }],
    ['a limit of 101', { limit: 101 }],
    ['an offset below 0', { offset: -1 }],
  ]
  for (const [name, options] of failures) {
    it(`says why there is none: ${name}`, async () => {
      expect(await listBazaar(options)).toEqual({ ok: false, error: expect.stringMatching(/./) })
    })
  }

  it('says so where a page is larger than is read', async () => {
    const page = await listBazaar(serving({ items: [], padding: 'x'.repeat(17 * 1024 * 1024) }))
    expect(page).toEqual({ ok: false, error: expect.stringMatching(/answered more than is read/) })
  })

  it('is asked at the global fetch of the moment, for a page of the given size', async () => {
    const asked: string[] = []
    const before = globalThis.fetch
    globalThis.fetch = async input => {
      asked.push(String(input))
      return Response.json({ items: [] })
    }
    try {
      await listBazaar({ facilitatorUrl: 'https://facilitator.example/base/', limit: 7, offset: 14 })
    } finally {
      globalThis.fetch = before
    }
    expect(asked).toEqual(['https://facilitator.example/base/discovery/resources?limit=7&offset=14'])
  })
})
