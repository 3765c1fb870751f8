/** `svc bazaar`: one page of a facilitator's index, whose words are strangers'. */
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
beforeAll(async () => {
  facilitator = await fakeNode(path => (path.startsWith('/discovery/resources') ? { items: ITEMS } : {}))
})
afterAll(() => facilitator.close())

describe.concurrent('svc bazaar', () => {
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

  it('tells nothing found from nothing read', async () => {
    const [none, gone, misused] = await Promise.all([
      svc(['bazaar', '--search', 'gold', '--facilitator', facilitator.url]),
      svc(['bazaar', '--facilitator', 'http://127.0.0.1:9']),
      svc(['bazaar', '--limit', '101']),
    ])
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('Nothing of that') })
    expect(gone).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('(bazaar_unavailable)'),
    })
    expect(misused).toMatchObject({ code: 2, stdout: '' })
  })
})
