/** What only a host with `fetch` does: bodies and answers as web streams, callers whose address the seller says. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { targetOf } from '../../../src/adapters/http/fetch-request.js'
import {
  createHandler,
  defineAgent,
  defineEndpoint,
  type EndedCall,
  type HandlerOptions,
} from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { listen } from '../../support/listen.js'
import { type Seller, signFor } from '../../support/seller.js'

const ORIGIN = 'https://agent.example'
const KEY = 'a-random-key-that-no-stranger-guesses'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

function handlerOf(options: HandlerOptions = {}) {
  let runs = 0
  const agent = defineAgent({
    name: 'Fetched',
    handle: 'fetched',
    description: 'Answers without a server.',
    payTo: sandbox.seller.address,
    network: 'testnet',
    endpoints: [
      defineEndpoint({ name: 'work', price: '$0.01', handler: ({ body }) => ({ body, run: ++runs }) }),
      defineEndpoint({
        name: 'nothing',
        price: '$0.01',
        handler: () => new Response(null, { status: 204 }),
      }),
    ],
  })
  const { facilitatorUrl, algodUrl } = sandbox
  // A clock of its own, so that it shares no memory with the agent of another test.
  return createHandler(agent, { facilitatorUrl, algodUrl, advanced: { clock: {} }, ...options })
}

interface Posting {
  readonly path?: string
  readonly signal?: AbortSignal
}

const post = (
  body: string | ReadableStream,
  headers: Record<string, string> = {},
  { path = 'work', signal }: Posting = {},
) =>
  new Request(`${ORIGIN}/${path}`, {
    method: 'POST',
    body,
    headers,
    duplex: 'half',
    ...(signal && { signal }),
  } as RequestInit)

const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code

it('one answer comes after another where a test has replaced the timers', async () => {
  const { fetch: answer } = handlerOf()
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  for (const _ of ['once', 'again']) expect((await answer(new Request(`${ORIGIN}/health`))).status).toBe(200)
})

it('the answers of one turn leave together at its end, but for the first', async () => {
  const { fetch: answer } = handlerOf()
  const order: string[] = []
  const asked = ['first', 'second', 'third'].map(async name => {
    await answer(new Request(`${ORIGIN}/health`))
    order.push(name)
  })
  setImmediate(() => order.push('the turn has ended'))
  await Promise.all(asked)
  expect(order).toEqual(['first', 'the turn has ended', 'second', 'third'])
})

describe('a request', () => {
  it('whose body was read before is refused, and says whose mistake it is', async () => {
    const request = post('{}')
    await request.text()
    const answer = await handlerOf().fetch(request)
    expect([answer.status, await codeOf(answer)]).toEqual([500, 'body_already_read'])
  })

  it('whose body is too large is refused, and its source is told to stop', async () => {
    let stopped = false
    const endless = new ReadableStream({
      pull: controller => controller.enqueue(new Uint8Array(1_000)),
      cancel() {
        stopped = true
      },
    })
    const answer = await handlerOf({ maxBodyBytes: 5_000 }).fetch(post(endless))
    expect([answer.status, await codeOf(answer), stopped]).toEqual([413, 'body_too_large', true])
  })

  it('whose body breaks off is refused', async () => {
    const broken = new ReadableStream({
      start: controller => controller.error(new Error('the network is gone')),
    })
    const answer = await handlerOf().fetch(post(broken))
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'incomplete_body'])
  })

  it('whose length is no number does not lift the limit for the bodies of all', async () => {
    const { fetch } = handlerOf({ maxBodyBytes: 1_000, advanced: { maxUnpaidBodyBytes: 2_500 } })
    await fetch(post('{}', { 'content-length': 'many' }))
    const stalled = () =>
      fetch(post(new ReadableStream({ start: controller => controller.enqueue(new Uint8Array(900)) })))
    const [first] = [stalled(), stalled(), stalled()]
    const refused = await first!
    expect([refused.status, await codeOf(refused)]).toEqual([503, 'overloaded'])
  })

  it('whose large body makes room for another is told to stop, also where its length was announced', async () => {
    let stopped = false
    const { fetch } = handlerOf({ maxBodyBytes: 200_000, advanced: { maxUnpaidBodyBytes: 400_000 } })
    const large = (cancel = () => {}) =>
      fetch(
        post(
          new ReadableStream({ start: controller => controller.enqueue(new Uint8Array(190_000)), cancel }),
          { 'content-length': '200000' },
        ),
      )
    const first = large(() => {
      stopped = true
    })
    large()
    large()
    expect([(await first).status, stopped]).toEqual([503, true])
  })

  it('of HEAD gets the headers alone', async () => {
    const answer = await handlerOf().fetch(new Request(`${ORIGIN}/health`, { method: 'HEAD' }))
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  })

  it('of a web page cannot reach what is for this machine alone', async () => {
    const answer = await handlerOf({ audit: true }).fetch(new Request('http://localhost/_svc/audit'))
    expect(answer.status).toBe(403)
  })
})

describe('a limit by address', () => {
  const rateLimit = { perMinute: 1, per: 'ip' } as const
  const from = (address: string) => post('{}', { 'x-real-address': address, 'x-forwarded-for': address })
  const statuses = async (options: HandlerOptions, addresses: readonly string[]) => {
    const { fetch } = handlerOf({ rateLimit, ...options })
    const found = []
    for (const address of addresses) found.push((await fetch(from(address))).status)
    return found
  }

  it('is one for all callers where nothing says their address', async () => {
    expect(await statuses({}, ['192.0.2.1', '192.0.2.2'])).toEqual([402, 429])
  })

  it('is for each address that the seller names', async () => {
    const clientAddress = (request: Request) => request.headers.get('x-real-address') ?? undefined
    expect(await statuses({ clientAddress }, ['192.0.2.1', '192.0.2.2', '192.0.2.1'])).toEqual([
      402, 402, 429,
    ])
  })

  it('is for each address that a trusted proxy names', async () => {
    expect(await statuses({ trustProxy: 1 }, ['192.0.2.1', '192.0.2.2', '192.0.2.1'])).toEqual([
      402, 402, 429,
    ])
  })

  it('is one for an IPv6 caller’s /64, however the addresses in it are written', async () => {
    const addresses = ['2001:db8::1', '2001:DB8:0:0:ffff::2', '2001:db8::3%a', '2001:db8:0:1::1']
    expect(await statuses({ trustProxy: 1 }, addresses)).toEqual([402, 429, 429, 402])
  })

  it('is refused at start where the option is no function', () => {
    expect(() => handlerOf({ clientAddress: 'cf-connecting-ip' as never })).toThrow('clientAddress')
  })
})

describe('a caller that has gone', () => {
  it('while its call settled leaves nothing behind: the answer counts as lost, and the server can stop', async () => {
    const handler = handlerOf({ idempotency: {} })
    const url = await listen(handler.node)
    const payment = await signFor({ sandbox } as Seller, `${url}/work`, { body: {} })
    const caller = new AbortController()
    const headers = { ...payment, 'idempotency-key': KEY, 'content-type': 'application/json' }
    const answer = await handler.fetch(
      new Request(`${ORIGIN}/work`, { method: 'POST', body: '{}', headers, signal: caller.signal }),
    )
    caller.abort()
    expect(answer.status).toBe(200)
    expect(await handler.shutdown()).toMatchObject({ outcome: 'drained' })
  })
})

describe('an answer under a key', () => {
  interface Buying extends Posting {
    readonly stores?: HandlerOptions['stores']
    readonly keepAnswers?: HandlerOptions['keepAnswers']
  }

  async function bought(
    idempotency: HandlerOptions['idempotency'],
    { path = 'work', signal, ...options }: Buying = {},
  ) {
    const handler = handlerOf({ idempotency, ...options })
    const url = await listen(handler.node)
    const payment = await signFor({ sandbox } as Seller, `${url}/${path}`, { body: {} })
    const headers = { ...payment, 'idempotency-key': KEY }
    return {
      answer: await handler.fetch(post('{}', headers, { path, ...(signal && { signal }) })),
      again: () => handler.fetch(post('{}', headers, { path })),
      /** With a new payment. */
      paidAgain: async () => {
        const next = await signFor({ sandbox } as Seller, `${url}/${path}`, { body: {} })
        return handler.fetch(post('{}', { ...next, 'idempotency-key': KEY }, { path }))
      },
    }
  }

  it('that was taken whole is replayed', async () => {
    const { answer, again } = await bought({})
    expect(await answer.json()).toEqual({ body: {}, run: 1 })
    const replayed = await again()
    expect([replayed.headers.get('idempotency-replayed'), await replayed.json()]).toEqual([
      'true',
      { body: {}, run: 1 },
    ])
  })

  it('that was not taken frees its key, and stays with its payment', async () => {
    const { answer, again, paidAgain } = await bought({})
    await answer.body!.cancel()
    const replayed = await again()
    expect([replayed.headers.get('idempotency-replayed'), await replayed.json()]).toEqual([
      'true',
      { body: {}, run: 1 },
    ])
    expect(await (await paidAgain()).json()).toEqual({ body: {}, run: 2 })
  })

  it('that was not taken is gone where answers without a key are not kept: the payment is spent', async () => {
    const { answer, again } = await bought({}, { keepAnswers: false })
    await answer.body!.cancel()
    const refused = await again()
    expect([refused.status, await codeOf(refused)]).toEqual([409, 'payment_spent'])
  })

  it('that nothing reads for a minute is lost, and then cannot be read any more', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { answer, paidAgain } = await bought({})
    vi.advanceTimersByTime(60_000)
    await expect(answer.text()).rejects.toThrow('nothing was read')
    expect(await (await paidAgain()).json()).toEqual({ body: {}, run: 2 })
  })

  it('that has no body is lost where its caller has gone while it settled', async () => {
    const caller = new AbortController()
    const runs = { list: () => [], ended: (run: EndedCall) => run.final === 'settled' && caller.abort() }
    const { paidAgain } = await bought({}, { signal: caller.signal, path: 'nothing', stores: { runs } })
    const next = await paidAgain()
    expect([next.status, next.headers.get('idempotency-replayed')]).toEqual([204, null])
  })

  it('that was not taken is kept where answers are replayed', async () => {
    const { answer, again } = await bought({ onLostResponse: 'replay' })
    await answer.body!.cancel()
    expect(await (await again()).json()).toEqual({ body: {}, run: 1 })
  })
})

it('the fragment of a request is no part of its target, for a gate as for the agent', () => {
  expect(targetOf(new Request(`${ORIGIN}/x?y=1#/z?w`))).toBe('/x?y=1')
  expect(targetOf(new Request(`${ORIGIN}#z`))).toBe('/')
})
