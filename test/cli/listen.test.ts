/** `svc listen`: the calls of an agent that runs, as they end. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callsIn, isAway } from '../../cli/commands/listen.js'
import { SvcError } from '../../src/domain/errors.js'
import { defineEndpoint } from '../../src/index.js'
import { ask, openSeller, pay, type Seller } from '../support/seller.js'
import { hear, start, svc } from './run.js'

const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body })

let seller: Seller
beforeAll(async () => {
  seller = await openSeller([echo], { audit: true })
})
afterAll(() => seller?.close())

describe('svc listen', () => {
  it('prints what ends from now on, as lines or as JSON, and stops at Ctrl-C', async () => {
    const old = await ask(`${seller.url}/echo`)
    expect(old.status).toBe(402)
    const [plain, asJson] = [
      ['listen', seller.url],
      ['listen', seller.url, '--json', '--remembered'],
    ].map(args => start(args)) as [ReturnType<typeof start>, ReturnType<typeof start>]
    const [lines, objects] = [hear(plain), hear(asJson)]
    await Promise.all([lines, objects].map(heard => heard.until(/Ctrl-C ends it/)))
    await pay(seller, `${seller.url}/echo`, { body: {} })
    await lines.until(/^\d{4}-\S+Z {2}\/echo {2}200 settled, charged \$0\.01, \d+ ms, payment [A-Z2-7]{52}$/m)
    const [line] = await objects.until(/^\{.*"code":"settled".*\}$/m)
    expect(JSON.parse(line)).toMatchObject({
      charged: 'yes',
      path: expect.arrayContaining(['settling.settled']),
    })
    plain.kill('SIGINT')
    asJson.kill('SIGTERM')
    expect(await Promise.all([lines.ended, objects.ended])).toEqual([0, 0])
    expect(objects.text).toContain('"code":"payment_required"')
  })

  it('stops at Ctrl-C without a word before its agent has answered', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const child = start(['listen', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`])
    const heard = hear(child)
    await once(silent, 'request')
    child.kill('SIGINT')
    expect([await heard.ended, heard.text]).toEqual([0, ''])
    silent.close()
  })

  it('says why it cannot, and what to do', async () => {
    const guarded = await openSeller([echo], {
      audit: { token: 'a-long-secret-token' },
      sandbox: seller.sandbox,
    })
    const [untold, gone] = await Promise.all([
      svc(['listen', guarded.url]),
      svc(['listen', 'http://127.0.0.1:9']),
    ])
    await guarded.close()
    expect([untold.code, untold.stderr]).toEqual([
      1,
      expect.stringContaining('SVC_AUDIT_TOKEN (audit_unavailable)'),
    ])
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('did not answer')])
    const other = createServer((_, response) => void response.end('<p>Welcome')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { code, stderr } = await svc([
      'listen',
      `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
    ])
    other.close()
    expect([code, stderr]).toEqual([1, expect.stringContaining('answered 200: this may be no agent')])
  })
})

it.each([
  [true, undefined],
  [true, 502],
  [true, 503],
  [true, 504],
  [false, 401],
  [false, 404],
  [false, 500],
])('waits for the agent again (%s) where the answer is %s', (waits, status) => {
  expect(isAway(new SvcError('no', 'audit_unavailable', status))).toBe(waits)
})

describe('the stream', () => {
  const streamOf = (...events: [string, unknown][]) =>
    new Blob(events.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)).stream()

  it('tells how many calls were left out, and not of those that the agent had forgotten', async () => {
    const parts = []
    const body = streamOf(
      ['hello', { steps: ['received.admitted', 'opening.opened'] }],
      ['runs', [{ id: 'a', path: [0, 1, 7] }]],
      ['totals', { calls: 11 }],
      ['later', 'not known'],
      ['runs', [{ id: 'b' }]],
      ['totals', { calls: 15 }],
    )
    for await (const part of callsIn(body)) parts.push(part)
    expect(parts).toEqual([
      { calls: [{ id: 'a', path: ['received.admitted', 'opening.opened', 7] }], missed: 0 },
      { calls: [{ id: 'b' }], missed: 0 },
      { calls: [], missed: 3 },
    ])
  })
})
