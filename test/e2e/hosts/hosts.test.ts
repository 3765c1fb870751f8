/** One contract for every host: a call in a seller's own app is the same call. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createHandler,
  defineAgent,
  defineEndpoint,
  type EndedCall,
  type HandlerOptions,
} from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { gate } from '../../support/gate.js'
import { ask, challengeIn, receiptIn, type Seller, signFor } from '../../support/seller.js'
import { HOSTS, type Host } from './hosts.js'

const PRICE = 10_000n
const TEXT = { text: 'hello' }

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

async function scene(host: Host, options: HandlerOptions = {}) {
  const door = gate()
  const signals: AbortSignal[] = []
  const ended: EndedCall[] = []
  const waiting: ((call: EndedCall) => void)[] = []
  let runs = 0
  const payee = sandbox.accounts(`seller in ${host.name} ${Math.random()}`)
  const usdcOf = async () => (await sandbox.balance(payee.address)).usdc!
  const before = await usdcOf()
  const agent = defineAgent({
    name: 'Hosted',
    handle: 'hosted',
    description: 'Lives in the app of another.',
    payTo: payee.address,
    network: 'testnet',
    endpoints: [
      defineEndpoint({
        name: 'shout',
        price: '$0.01',
        handler: ({ body }) => ({ said: (body as typeof TEXT).text.toUpperCase(), run: ++runs }),
      }),
      defineEndpoint({
        name: 'fail',
        price: '$0.01',
        handler() {
          throw new Error('as planned')
        },
      }),
      defineEndpoint({
        name: 'words',
        price: '$0.01',
        stream: true,
        async *handler() {
          yield 'one'
          yield { two: 2 }
        },
      }),
      defineEndpoint({
        name: 'broken',
        price: '$0.01',
        stream: true,
        async *handler() {
          yield 'one'
          throw new Error('as planned')
        },
      }),
      defineEndpoint({
        name: 'slow',
        price: '$0.01',
        async handler({ signal }) {
          signals.push(signal)
          door.enter()
          await door.opened
          return { done: true }
        },
      }),
    ],
  })
  const handler = createHandler(agent, {
    facilitatorUrl: sandbox.facilitatorUrl,
    algodUrl: sandbox.algodUrl,
    ...(host.basePath && { basePath: host.basePath }),
    stores: {
      runs: {
        list: () => ended,
        ended(call) {
          ended.push(call)
          for (const resolve of waiting.splice(0)) resolve(call)
        },
      },
    },
    ...options,
  })
  const opened = closing(await host.open(handler))
  const url = (path: string) => `${opened.url}${host.prefix}/${path}`
  const seller = { sandbox } as Seller
  const funded = sandbox.accounts(`buyer in ${host.name} ${Math.random()}`)
  return {
    handler,
    door,
    signals,
    url,
    origin: opened.url,
    runs: () => runs,
    ended: ended as readonly EndedCall[],
    earned: async () => (await usdcOf()) - before,
    nextEnded: () => new Promise<EndedCall>(resolve => waiting.push(resolve)),
    sign: (path: string) => signFor(seller, url(path), { body: TEXT, mnemonic: funded.mnemonic }),
  }
}

describe.each(HOSTS)('an agent in $name', host => {
  it('quotes under the URL by which its caller reached it, and runs nothing', async () => {
    const { url, runs } = await scene(host)
    const quoted = await ask(url('shout'), { body: TEXT })
    expect([quoted.status, await quoted.text()]).toEqual([402, '{}'])
    expect(challengeIn(quoted).resource.url).toBe(url('shout'))
    expect(runs()).toBe(0)
  })

  it('answers a paid call once, with its receipt, and is paid', async () => {
    const { url, sign, earned } = await scene(host)
    const payment = await sign('shout')
    const answer = await ask(url('shout'), { body: TEXT, headers: payment })
    expect([answer.status, await answer.json()]).toEqual([200, { said: 'HELLO', run: 1 }])
    expect(receiptIn(answer)).toMatchObject({ success: true, amount: String(PRICE) })
    expect((await ask(url('shout'), { body: TEXT, headers: payment })).status).toBe(409)
    expect(await earned()).toBe(PRICE)
  })

  it.each(['release', 'replay'] as const)('replays an answer under its key (%s)', async onLostResponse => {
    const { url, sign, earned, runs } = await scene(host, { idempotency: { onLostResponse } })
    const headers = { ...(await sign('shout')), 'idempotency-key': 'a-random-key-that-no-stranger-guesses' }
    const first = await ask(url('shout'), { body: TEXT, headers })
    expect(await first.json()).toEqual({ said: 'HELLO', run: 1 })
    await expect
      .poll(async () => {
        const again = await ask(url('shout'), { body: TEXT, headers })
        return [again.status, again.headers.get('idempotency-replayed'), await again.text()]
      })
      .toEqual([200, 'true', '{"said":"HELLO","run":1}'])
    expect([runs(), await earned()]).toEqual([1, PRICE])
  })

  it('stops a handler whose caller hangs up, and charges nothing', async () => {
    const { url, sign, door, signals, earned, nextEnded } = await scene(host)
    const payment = await sign('slow')
    const ended = nextEnded()
    const caller = new AbortController()
    const call = ask(url('slow'), { body: TEXT, headers: payment, signal: caller.signal })
    await door.entered()
    caller.abort()
    await expect(call).rejects.toThrow()
    expect((await ended).final).toBe('abandoned')
    expect(signals[0]!.aborted).toBe(true)
    door.open()
    expect(await earned()).toBe(0n)
  })

  it('charges nothing for a handler that fails', async () => {
    const { url, sign, earned } = await scene(host)
    const answer = await ask(url('fail'), { body: TEXT, headers: await sign('fail') })
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      500,
      'handler_error',
    ])
    expect(await earned()).toBe(0n)
  })

  it('sends a stream as it comes, charged once, and gives one that breaks no clean end', async () => {
    const { url, sign, earned, nextEnded } = await scene(host)
    const whole = await ask(url('words'), { body: TEXT, headers: await sign('words') })
    expect([receiptIn(whole).success, await whole.text()]).toEqual([true, 'data: one\n\ndata: {"two":2}\n\n'])
    const payment = await sign('broken')
    const ended = nextEnded()
    // Fastify gives up such a stream before it has sent the head.
    const broken = ask(url('broken'), { body: TEXT, headers: payment }).then(answer => answer.text())
    await expect(broken).rejects.toThrow()
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true })
    expect(await earned()).toBe(2n * PRICE)
  })

  it('answers free routes, 405 for other methods, and leaves or refuses other paths', async () => {
    const { url, origin } = await scene(host)
    expect((await ask(url('health'), { method: 'GET' })).status).toBe(200)
    const manifest = (await (await ask(url('.well-known/svc.json'), { method: 'GET' })).json()) as {
      endpoints: { url: string }[]
    }
    expect(manifest.endpoints[0]!.url).toBe(url('shout'))
    const put = await ask(url('shout'), { method: 'PUT', body: TEXT })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
    const unknown = await ask(`${origin}/elsewhere`, { method: 'GET' })
    expect(unknown.status).toBe(404)
    expect(await unknown.text()).toContain(host.notFound)
  })

  it('quotes a GET on a POST endpoint as it quotes a POST without a body, and runs nothing', async () => {
    const { url, runs } = await scene(host)
    const [got, posted] = await Promise.all([
      ask(url('shout?crawler=1'), { method: 'GET' }),
      ask(url('shout'), { method: 'POST' }),
    ])
    expect([got.status, await got.text()]).toEqual([402, '{}'])
    expect(challengeIn(got)).toEqual(challengeIn(posted))
    for (const name of ['cache-control', 'vary', 'access-control-expose-headers', 'content-type'])
      expect([name, got.headers.get(name)]).toEqual([name, posted.headers.get(name)])
    expect(runs()).toBe(0)
  })

  it('answers 405 to a GET with a payment on a POST endpoint: the payment is looked at by nobody', async () => {
    const { url, sign, runs, earned, ended } = await scene(host)
    const payment = await sign('shout')
    const presented: Record<string, string>[] = [
      payment,
      { 'x-payment': payment['payment-signature'] },
      { 'payment-signature': 'no payment at all' },
      { 'x-svc-subscription': 'a-key' },
    ]
    const { length: walked } = ended
    for (const headers of presented) {
      const refused = await ask(url('shout'), { method: 'GET', headers })
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
      expect(refused.headers.get('payment-required')).toBeNull()
    }
    expect(ended.length).toBe(walked)
    for (const method of ['HEAD', 'PUT']) {
      const refused = await ask(url('shout'), { method })
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
    }
    const free = await ask(url('shout'), { method: 'OPTIONS' })
    expect([free.status, free.headers.get('allow')]).toEqual([204, 'POST, OPTIONS'])
    expect((await ask(url('shout'), { body: TEXT, headers: payment })).status).toBe(200)
    expect([runs(), await earned()]).toEqual([1, PRICE])
  })

  it('lists what it sells under the URL by which its caller reached it', async () => {
    const { url } = await scene(host)
    const listed = await ask(url('.well-known/x402'), { method: 'GET' })
    expect([listed.status, listed.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ])
    expect(await listed.json()).toMatchObject({
      resources: [{ url: url('shout'), amount: String(PRICE) }, {}, {}, {}, {}],
    })
    expect((await ask(url('.well-known/x402'), { method: 'POST' })).status).toBe(405)
  })

  it('answers its own root where no other app does, and a browser with a page', async () => {
    const { url } = await scene(host)
    const programs = await ask(url(''), { method: 'GET' })
    if (!host.ownsRoot) return expect([programs.status, await programs.text()]).toEqual([404, host.notFound])
    expect([programs.status, await programs.json()]).toMatchObject([
      200,
      { manifest: url('.well-known/svc.json') },
    ])
    const page = await ask(url(''), { method: 'GET', headers: { accept: 'text/html,*/*;q=0.8' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain(url('shout'))
    const paid = await ask(url('shout'), { method: 'GET', headers: { accept: 'text/html,*/*;q=0.8' } })
    expect([paid.status, paid.headers.get('content-type')]).toEqual([402, 'text/html; charset=utf-8'])
    expect(challengeIn(paid).resource.url).toBe(url('shout'))
    expect((await ask(url(''), { method: 'POST' })).status).toBe(405)
  })

  it('lets calls at work end when it stops, and refuses new ones', async () => {
    const { handler, url, sign, door, earned } = await scene(host)
    const payment = await sign('slow')
    const working = ask(url('slow'), { body: TEXT, headers: payment })
    await door.entered()
    const stopped = handler.shutdown('a new version')
    const refused = await ask(url('shout'), { body: TEXT })
    expect(refused.status).toBe(503)
    door.open()
    expect((await working).status).toBe(200)
    expect(await stopped).toMatchObject({ reason: 'a new version', outcome: 'drained', abandoned: 0 })
    expect(await earned()).toBe(PRICE)
  })
})
