import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { TESTNET } from '../../src/domain/network.js'
import type { FacilitatorAppOptions } from '../../src/facilitator.js'
import { defineEndpoint } from '../../src/index.js'
import type { ProtocolFacilitator } from '../../src/ports/facilitator.js'
import { gate } from '../support/gate.js'
import {
  LONG_ID,
  OFFICIAL_SERVERS,
  type OfficialServerName,
  officialClient,
  receiptIn,
  SHORT_ID,
} from '../support/official.js'
import { open, pay } from '../support/seller.js'
import { listening, moved, rig } from './rig.js'

async function restOf(options: FacilitatorAppOptions = {}, facilitatorOptions = {}) {
  const own = await rig(facilitatorOptions)
  const url = await listening(own.facilitator, options)
  const post = (path: string, body: unknown) =>
    fetch(url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
  const bodyOf = async () => {
    const { payload, requirements, txId } = await own.pay()
    return { txId, body: { x402Version: 2, paymentPayload: payload, paymentRequirements: requirements } }
  }
  return { ...own, url, post, bodyOf }
}

describe('others settle through it', () => {
  it.each(
    (Object.keys(OFFICIAL_SERVERS) as OfficialServerName[]).flatMap(name =>
      [SHORT_ID, LONG_ID].map(network => ({ name, network })),
    ),
  )('an official $name server quoting $network, paid by the official client', async ({ name, network }) => {
    const { url, sandbox, sponsor } = await restOf()
    const server = await OFFICIAL_SERVERS[name]({
      facilitatorUrl: url,
      payTo: sandbox.seller.address,
      network,
      routes: { 'POST /echo': { price: '$0.01', work: input => ({ body: input }) } },
    })
    onTestFinished(() => server.close())
    const client = officialClient(sandbox, sandbox.wallet)
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      const answer = await client.pay(`${server.url}/echo`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"a":1}',
      })
      expect(await answer.json()).toEqual({ a: 1 })
      expect(receiptIn(answer)).toMatchObject({ success: true, network })
    })
    expect([fees, paid]).toEqual([2_000n, 10_000n])
  })

  it('our server, which lists its resource', async () => {
    const { url, sandbox, sponsor } = await restOf()
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({}) })
    const seller = await open([work], { sandbox, facilitatorUrl: url })
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
    })
    expect([fees, paid]).toEqual([2_000n, 10_000n])
    expect(await (await fetch(`${url}/supported`)).json()).toMatchObject({
      kinds: [{ network: SHORT_ID, extra: { feePayer: sponsor.address } }, { network: TESTNET.wholeHashId }],
    })
  })
})

describe('strangers', () => {
  it.each<[string, string, number, string]>([
    ['no JSON', '{', 400, 'invalid_json'],
    ['200,000 nested arrays', '['.repeat(200_000), 400, 'invalid_json'],
    ['__proto__', '{"__proto__":{},"paymentPayload":{}}', 400, 'invalid_json'],
    ['no payload', '{"paymentRequirements":{}}', 400, 'invalid_request'],
    ['an array', '[]', 400, 'invalid_request'],
    ['nothing', '', 400, 'invalid_request'],
    ['300 KB', `"${'x'.repeat(300_000)}"`, 413, 'body_too_large'],
  ])('send %s: a clear refusal, and the next question is answered', async (_, body, status, code) => {
    const { post, bodyOf } = await restOf()
    for (const path of ['/verify', '/settle']) {
      const answer = await post(path, body)
      expect(answer.status).toBe(status)
      expect(await answer.json()).toMatchObject({ error: { code } })
    }
    expect(await (await post('/settle', (await bodyOf()).body)).json()).toMatchObject({ success: true })
  })

  it.each([
    ['GET', '/verify', 405, 'method_not_allowed'],
    ['POST', '/supported', 405, 'method_not_allowed'],
    ['GET', '/nothing', 404, 'not_found'],
    ['GET', '/discovery/resources?limit=0', 400, 'invalid_query'],
  ])('ask %s %s: %i', async (method, path, status, code) => {
    const { url } = await restOf()
    const answer = await fetch(url + path, { method })
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ error: { code } })
  })

  it.each([
    '//',
    '/\\',
    '/%00',
    '/%ff',
    '/verify/',
    '/Verify',
    '/settle;x',
    '//settle',
    'http://other.example/nothing',
  ])('ask for the path %s: 404, and the app lives', async path => {
    const { url, post, bodyOf } = await restOf()
    const { hostname, port } = new URL(url)
    const status = await new Promise(resolve => {
      request({ hostname, port, path, method: 'POST' }, response => {
        response.resume()
        resolve(response.statusCode)
      }).end('{}')
    })
    expect(status).toBe(404)
    expect(await (await post('/settle', (await bodyOf()).body)).json()).toMatchObject({ success: true })
  })

  it('sell to another payTo: refused with invalid_payment_requirements', async () => {
    const { post, pay: sign, sandbox } = await restOf()
    const { payload, requirements } = await sign({ payTo: sandbox.accounts('stranger').address })
    const answer = await post('/verify', { paymentPayload: payload, paymentRequirements: requirements })
    expect(await answer.json()).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_payment_requirements',
    })
  })

  it('hold bodies in memory until they are answered: together no more than the limit', async () => {
    const { facilitator } = await rig()
    const asked = gate()
    const waiting: ProtocolFacilitator = {
      ...facilitator,
      async verify() {
        asked.enter()
        await asked.opened
        return { isValid: true }
      },
    }
    const url = await listening(waiting)
    const padded = { paymentPayload: {}, paymentRequirements: {}, pad: 'x'.repeat(250 * 1_024) }
    const body = JSON.stringify(padded)
    const ask = async () => (await fetch(`${url}/verify`, { method: 'POST', body })).status
    // 32 MiB have room for 131 of them, less what their pieces take.
    const held = Array.from({ length: 120 }, ask)
    await asked.entered(120)
    const more = Array.from({ length: 12 }, ask)
    expect(await Promise.race(more)).toBe(503)
    asked.open()
    expect(new Set(await Promise.all(held))).toEqual(new Set([200]))
    await Promise.all(more)
  })

  it('ask for the list too often: 429', async () => {
    const { url } = await restOf({ perMinute: 1 })
    const list = async () => (await fetch(`${url}/discovery/resources`)).status
    expect([await list(), await list()]).toEqual([200, 429])
  })

  it('ask from several addresses of one /64: they are one caller', async () => {
    const { url } = await restOf({ perMinute: 1, trustProxy: 1 })
    const list = async (address: string) =>
      (await fetch(`${url}/discovery/resources`, { headers: { 'x-forwarded-for': address } })).status
    const asked = [await list('2001:db8::1'), await list('2001:db8::2'), await list('2001:db8:0:1::1')]
    expect(asked).toEqual([200, 429, 200])
  })

  it('ask too often: 429, counted apart for verify and settle', async () => {
    const { post, bodyOf } = await restOf({ perMinute: 1 })
    const { body } = await bodyOf()
    expect((await post('/verify', body)).status).toBe(200)
    const refused = await post('/verify', body)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    // A settlement that is refused here would be one of a handler that has run.
    for (let time = 0; time < 10; time++) expect((await post('/settle', body)).status).toBe(200)
    expect((await post('/settle', body)).status).toBe(429)
  })

  it('preflight and read from a page, but not what is for operators', async () => {
    const { url } = await restOf()
    const preflight = await fetch(`${url}/settle`, { method: 'OPTIONS' })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('*')
    const supported = await fetch(`${url}/supported`)
    expect(supported.headers.get('access-control-allow-origin')).toBe('*')
    expect(supported.headers.get('access-control-expose-headers')).toBeNull()
    const lost = await fetch(`${url}/supporte`)
    expect({ status: lost.status, body: await lost.json() }).toEqual({
      status: 404,
      body: { error: { code: 'not_found', message: 'Nothing is here.' } },
    })
    const headers = { origin: 'https://elsewhere.example' }
    for (const path of ['/metrics', '/health']) {
      const refused = await fetch(url + path, { headers })
      expect(refused.status).toBe(403)
      expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('a node that does not answer', () => {
  it('is 503 with Retry-After, and strangers do not learn where it is', async () => {
    const { post, bodyOf, node } = await restOf()
    const { body } = await bodyOf()
    const port = new URL(node.url).port
    node.set('simulate', 'die')
    for (const path of ['/verify', '/settle']) {
      const answer = await post(path, body)
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toBe('5')
      expect(await answer.json()).toMatchObject({ error: { code: 'node_unavailable' } })
    }
    node.set('simulate', undefined)
    await node.close()
    for (const path of ['/verify', '/settle'])
      expect(await (await post(path, body)).text()).not.toContain(port)
  })

  it('is an outage to servers that ask whether sales may go on, until it answers again', async () => {
    const { post, bodyOf, node, url, pass } = await restOf()
    const { body } = await bodyOf()
    const supported = async () => (await fetch(`${url}/supported`)).status
    expect(await supported()).toBe(200)
    node.set('params', 'die')
    pass(3_000)
    expect((await post('/verify', body)).status).toBe(503)
    expect(await supported()).toBe(503)
    node.set('params', undefined)
    expect(await supported()).toBe(200)
    expect((await post('/verify', body)).status).toBe(200)
  })

  it('as it submits, is nothing that strangers learn more of', async () => {
    const { post, bodyOf, node } = await restOf()
    node.set('submit', 'die')
    const answer = await (await post('/settle', (await bodyOf()).body)).json()
    expect(answer).toMatchObject({
      errorReason: 'settlement_pending',
      errorMessage: 'The node did not say what became of it',
    })
  })

  it('is said by health, whatever it answered a moment ago', async () => {
    const { node, url } = await restOf()
    const health = async () => {
      const answer = await fetch(`${url}/health`)
      return { status: answer.status, ...((await answer.json()) as object) }
    }
    expect(await health()).toMatchObject({ status: 200, ok: true, node: 'ok', sponsorMicroAlgos: 9_800_000 })
    await node.close()
    const down = { status: 503, ok: false, node: 'unanswered', sponsorMicroAlgos: null }
    expect(await health()).toMatchObject(down)
  })
})

it('counts its answers and its fees, and shows no key, payer or payload', async () => {
  const { post, bodyOf, url, sponsor, sandbox } = await restOf()
  const { body } = await bodyOf()
  await post('/verify', body)
  await post('/settle', body)
  await post('/settle', body)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toContain('svc_facilitator_answers_total{operation="verify",result="valid"} 1')
  expect(metrics).toContain('svc_facilitator_answers_total{operation="settle",result="settled"} 1')
  expect(metrics).toContain('result="invalid_exact_avm_settlement_failed"} 1')
  expect(metrics).toContain('svc_facilitator_fees_today_microalgos 2000')
  const health = await (await fetch(`${url}/health`)).text()
  for (const secret of [
    ...sponsor.mnemonic.split(' ').filter(word => word.length > 6),
    sandbox.wallet.address,
  ]) {
    expect(metrics + health).not.toContain(secret)
  }
})
