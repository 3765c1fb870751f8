/** `svc bazaar`: a facilitator's index, one page of it or all, whose words are strangers'. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CAIP2, USDC_ASSET_ID } from '../../src/domain/network.js'
import { type FakeNode, fakeNode } from '../support/fake-node.js'
import { svc } from './run.js'

const terms = { network: CAIP2.testnet, asset: String(USDC_ASSET_ID.testnet), amount: '10000' }
const ITEMS = [
  { resource: 'https://a.example/rain', accepts: [terms], description: 'Weather\u001b[2J\nof today' },
  { resource: 'https://b.example/tea', accepts: [{ ...terms, asset: '1' }], description: 'Tea' },
]

let facilitator: FakeNode
let pages: FakeNode
beforeAll(async () => {
  facilitator = await fakeNode(path => (path.startsWith('/discovery/resources') ? { items: ITEMS } : {}))
  pages = await fakeNode(path => {
    const { searchParams } = new URL(path, 'http://facilitator.example')
    const [limit, offset] = ['limit', 'offset'].map(name => Number(searchParams.get(name))) as [
      number,
      number,
    ]
    return { items: ITEMS.slice(offset, offset + limit), pagination: { limit, offset, total: ITEMS.length } }
  })
})
afterAll(() => Promise.all([facilitator.close(), pages.close()]))

describe('svc bazaar', () => {
  it('prints what is listed, with prices where they can be read, and obeys none of it', async () => {
    const { code, stdout, stderr } = await svc(['bazaar', '--facilitator', facilitator.url])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(
      'https://a.example/rain  $0.01 on testnet\n  Weather\\u001b[2J\\u000aof today\n' +
        'https://b.example/tea  on testnet\n  Tea\n',
    )
  })

  it('searches one page of the size that it is told', async () => {
    const args = ['bazaar', '--search', 'WEATHER', '--limit', '7', '--json']
    const { stdout } = await svc(args, { SVC_SANDBOX: facilitator.url })
    expect(JSON.parse(stdout)).toMatchObject([{ resourceUrl: 'https://a.example/rain' }])
    expect(facilitator.requests).toContain('/discovery/resources?limit=7&offset=0')
  })

  it('reads every page, and searches all of them', async () => {
    const args = ['bazaar', '--all', '--limit', '1', '--json', '--facilitator', pages.url]
    const [whole, found] = await Promise.all([svc(args), svc([...args, '--search', 'tea'])])
    const urlsIn = ({ stdout }: { stdout: string }) =>
      (JSON.parse(stdout) as { resourceUrl: string }[]).map(({ resourceUrl }) => resourceUrl)
    expect([whole.code, whole.stderr, urlsIn(whole)]).toEqual([0, '', ITEMS.map(({ resource }) => resource)])
    expect([found.code, urlsIn(found)]).toEqual([0, ['https://b.example/tea']])
  })

  it('says so where an index has no end, prints what was read, and fails', async () => {
    const { code, stdout, stderr } = await svc(['bazaar', '--all', '--facilitator', facilitator.url])
    expect(code).toBe(1)
    expect(stdout).toContain('https://b.example/tea')
    expect(stderr).toBe('The index was not read to its end: page 2 repeats what came before it.\n')
  })

  it('prints what can be read beside what cannot', async () => {
    const thrower = { toString: 1 }
    const deep = 'a list of lists'
    const hostile = [thrower, deep].flatMap(value => [
      { ...ITEMS[0], accepts: [{ ...terms, network: value, amount: value, asset: value }] },
      { ...ITEMS[0], accepts: [terms], metadata: { value }, lastUpdated: value },
    ])
    const items = [...hostile, ITEMS[1]]
    const text = JSON.stringify({ items, pagination: { total: items.length } })
    const index = await fakeNode((_, response) => {
      response.end(text.replaceAll(`"${deep}"`, '['.repeat(20_000) + ']'.repeat(20_000)))
    })
    for (const flags of [[], ['--json'], ['--all'], ['--search', 'tea']]) {
      const { code, stdout } = await svc(['bazaar', '--facilitator', index.url, ...flags])
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('https://b.example/tea') })
    }
    await index.close()
  })

  it('tells nothing found from nothing read', async () => {
    const [none, gone, misused] = await Promise.all([
      svc(['bazaar', '--search', 'gold', '--facilitator', facilitator.url]),
      svc(['bazaar', '--facilitator', 'http://127.0.0.1:9']),
      svc(['bazaar', '--limit', '101']),
    ])
    expect(none).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('No match in the first 100 entries.'),
    })
    expect(gone).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('(bazaar_unavailable)'),
    })
    expect(misused).toMatchObject({ code: 2, stdout: '' })
  })
})
