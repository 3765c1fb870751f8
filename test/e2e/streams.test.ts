/** Streams that are sold: charged before their first byte, marked where they break, replayed only where they were whole. */
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import Koa from 'koa'
import mount from 'koa-mount'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createHandler,
  defineAgent,
  defineEndpoint,
  type EndedCall,
  type HandlerContext,
  type ServeOptions,
} from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { messageOf, rpc } from '../support/doors.js'
import { gate } from '../support/gate.js'
import { listen } from '../support/listen.js'
import { ask, open, pay, receiptIn, type Seller, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const PRICE = 10_000n
const KEY = { 'idempotency-key': 'a-random-key-that-no-stranger-guesses' }

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const usdc = async () => (await sandbox.balance(sandbox.seller.address)).usdc!

type Source = (context: HandlerContext) => unknown

/** A seller of one stream, with what it has earned since. */
async function selling(source: Source, options: Partial<ServeOptions> = {}, more: object = {}) {
  const before = await usdc()
  const endpoint = defineEndpoint({ name: 'work', price: '$0.01', stream: true, handler: source, ...more })
  const seller = await open([endpoint], { sandbox, ...options })
  return { seller, url: `${seller.url}/work`, earned: async () => (await usdc()) - before }
}

/** A paid call, and how it ended, which is known when its stream has ended. */
async function buying(seller: Seller, url: string, signal?: AbortSignal) {
  const headers = await signFor(seller, url, { body: {} })
  const ended = seller.nextEnded()
  return { answer: await ask(url, { body: {}, headers, ...(signal && { signal }) }), ended }
}

async function* words() {
  yield 'one'
  yield 'two\nlines'
  yield { three: 3 }
}
const WORDS = 'data: one\n\ndata: two\ndata: lines\n\ndata: {"three":3}\n\n'

/** Two chunks with a pause between them, which the test ends; and what became of the source. */
function paused() {
  const door = gate()
  const seen = { isReturned: false, signal: undefined as AbortSignal | undefined }
  async function* source({ signal }: HandlerContext) {
    seen.signal = signal
    try {
      yield 'one'
      door.enter()
      await Promise.race([door.opened, new Promise(resolve => signal.addEventListener('abort', resolve))])
      yield 'two'
    } finally {
      seen.isReturned = true
    }
  }
  return { door, seen, source }
}

const failing: Source = async function* () {
  yield 'one'
  throw new Error('as planned')
}

const codeOf = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: string } }
  return [response.status, error.code]
}

describe('a stream', () => {
  it('of items is server-sent events, with the receipt before the first of them', async () => {
    const { seller, url, earned } = await selling(words)
    const answer = await pay(seller, url, { body: {} })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    expect(receiptIn(answer)).toMatchObject({ success: true, amount: String(PRICE) })
    expect(await answer.text()).toBe(WORDS)
    expect(await earned()).toBe(PRICE)
    expect(seller.ended.at(-1)).toMatchObject({ final: 'settled', charged: 'yes' })
    expect(seller.ended.at(-1)).not.toHaveProperty('streamBroken')
  })

  it('is charged before its source is asked for the first byte', async () => {
    let paidAtFirst = 0n
    const { seller, url } = await selling(async function* () {
      paidAtFirst = await usdc()
      yield 'paid for'
    })
    const before = await usdc()
    await (await pay(seller, url, { body: {} })).text()
    expect(paidAtFirst - before).toBe(PRICE)
  })

  it.each<[string, () => unknown, string | null]>([
    ['a ReadableStream', () => new Blob(['as it ', 'comes']).stream(), 'application/octet-stream'],
    ['a ReadableStream of text', () => ReadableStream.from(['as it ', 'comes']), 'application/octet-stream'],
    ['a stream of Node', () => Readable.from(['as it ', 'comes']), 'application/octet-stream'],
    [
      'a Response',
      () =>
        new Response(ReadableStream.from([Buffer.from('as it comes')]), {
          headers: { 'content-type': 'text/x' },
        }),
      'text/x',
    ],
    ['plain data', () => 'as it comes', 'application/json; charset=utf-8'],
  ])('may be %s', async (_, returned, type) => {
    const { seller, url, earned } = await selling(returned)
    const answer = await pay(seller, url, { body: {} })
    expect(answer.headers.get('content-type')).toBe(type)
    expect((await answer.text()).replaceAll('"', '')).toBe('as it comes')
    expect(await earned()).toBe(PRICE)
  })

  it.each<[string, Source]>([
    [
      'a handler that throws',
      () => {
        throw new Error('as planned')
      },
    ],
    [
      'a Response that says 503',
      () => new Response(ReadableStream.from([Buffer.from('no')]), { status: 503 }),
    ],
    [
      'a stream that somebody reads already',
      () => {
        const stream = new Blob(['x']).stream()
        stream.getReader()
        return stream
      },
    ],
  ])('is not charged for %s', async (_, source) => {
    const { seller, url, earned } = await selling(source)
    expect((await pay(seller, url, { body: {} })).status).toBeGreaterThanOrEqual(500)
    expect(await earned()).toBe(0n)
  })

  it('whose payment is refused is not asked for a byte, and its source is told', async () => {
    const { source, seen } = paused()
    let isAsked = false
    let isReturned = false
    const { seller, url, earned } = await selling(context => {
      seen.signal = context.signal
      return {
        [Symbol.asyncIterator]: () => ({
          async next() {
            isAsked = true
            return source(context).next()
          },
          async return() {
            isReturned = true
            return { done: true, value: undefined }
          },
        }),
      }
    })
    sandbox.faults.set('settle', 'refuse', { times: 1 })
    const answer = await pay(seller, url, { body: {} })
    expect([answer.status, isAsked, isReturned, await earned()]).toEqual([402, false, true, 0n])
  })
})

describe('a stream that breaks', () => {
  it('has no clean end, stays charged, and is marked', async () => {
    const { seller, url, earned } = await selling(failing)
    const { answer, ended } = await buying(seller, url)
    expect(answer.status).toBe(200)
    await expect(answer.text()).rejects.toThrow()
    expect(await ended).toMatchObject({
      final: 'settled',
      charged: 'yes',
      streamBroken: true,
      brokenBy: 'seller',
    })
    expect(await earned()).toBe(PRICE)
    const metrics = await (await ask(`${seller.url}/metrics`, { method: 'GET' })).text()
    expect(metrics).toContain('svc_stream_broken_total 1')
  })

  it('because its caller goes tells its source', async () => {
    const { source, seen, door } = paused()
    const { seller, url, earned } = await selling(source)
    const caller = new AbortController()
    const { answer, ended } = await buying(seller, url, caller.signal)
    await door.entered()
    caller.abort()
    await expect(answer.text()).rejects.toThrow()
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true, brokenBy: 'caller' })
    expect(seen.signal!.aborted).toBe(true)
    await expect.poll(() => seen.isReturned).toBe(true)
    expect(await earned()).toBe(PRICE)
  })

  it('because it takes too long is cut', async () => {
    const { source, seen, door } = paused()
    const { clock, pass } = skippableClock()
    const { seller, url } = await selling(source, { advanced: { clock } }, { streamTimeout: 100_000 })
    const { answer, ended } = await buying(seller, url)
    await door.entered()
    pass(100_000)
    await expect(answer.text()).rejects.toThrow()
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true, brokenBy: 'seller' })
    expect(seen.signal!.aborted).toBe(true)
  })

  it('because its server stops is cut at the end of the grace, and not before', async () => {
    const { source, door } = paused()
    const { seller, url } = await selling(source, { shutdownTimeoutMs: 50 })
    const { answer, ended } = await buying(seller, url)
    await door.entered()
    const stopped = seller.server.shutdown('a new version')
    await expect(answer.text()).rejects.toThrow()
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true, brokenBy: 'seller' })
    expect(await stopped).toMatchObject({ outcome: 'timedOut', abandoned: 1 })
  })

  it('has no clean end in the app of another, either', async () => {
    const agent = defineAgent({
      name: 'Mounted',
      handle: 'mounted',
      description: 'Streams.',
      payTo: sandbox.seller.address,
      network: 'testnet',
      endpoints: [defineEndpoint({ name: 'work', price: '$0.01', stream: true, handler: failing })],
    })
    const handler = createHandler(agent, {
      facilitatorUrl: sandbox.facilitatorUrl,
      algodUrl: sandbox.algodUrl,
    })
    const url = await listen(new Koa().use(mount('/in', handler.koa())).callback())
    const answer = await pay({ sandbox } as never, `${url}/in/work`, { body: {} })
    await expect(answer.text()).rejects.toThrow()
  })
})

describe('a source', () => {
  const own = async function* () {
    yield 'x'
  }
  const used = own()
  const locked = new Response('x')
  locked.body!.getReader()
  const shared = new Blob(['x']).stream()
  const paused = Readable.from(['x'])
  /** A stream of Node's kind and of another class: packages bring their own copy of it. */
  const foreign = createRequire(import.meta.url)('readable-stream') as { readonly Readable: typeof Readable }

  it.each<[string, Source]>([
    ['a Response that somebody reads', () => locked],
    ['a stream of Node that has failed', () => Readable.from(['x']).destroy(new Error('as planned'))],
    [
      'an iterable that cannot be opened',
      () => ({
        [Symbol.asyncIterator]() {
          throw new Error('as planned')
        },
      }),
    ],
  ])('that cannot be read is no answer: %s', async (_, source) => {
    const { seller, url, earned } = await selling(source)
    const { answer, ended } = await buying(seller, url)
    expect(await codeOf(answer)).toEqual([500, 'handler_error'])
    expect((await ended).final).toBe('failed')
    expect(await earned()).toBe(0n)
  })

  it.each<[string, Source]>([
    ['a generator', () => used],
    ['a web stream', () => shared],
    ['a stream of Node', () => paused],
  ])('is sold once: %s', async (_, source) => {
    const { seller, url, earned } = await selling(source)
    await (await pay(seller, url, { body: {} })).text()
    expect(await codeOf(await pay(seller, url, { body: {} }))).toEqual([500, 'handler_error'])
    expect(await earned()).toBe(PRICE)
  })

  it.each<[string, Source]>([
    ['of Node', () => createReadStream('/no/such/file')],
    [
      'of readable-stream',
      () => {
        const stream = new foreign.Readable({ read() {} })
        setImmediate().then(() => stream.destroy(new Error('as planned')))
        return stream
      },
    ],
  ])('that fails before it is read breaks its own stream alone: one %s', async (_, source) => {
    const { seller, url, earned } = await selling(source)
    const { answer, ended } = await buying(seller, url)
    await expect(answer.text()).rejects.toThrow()
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true })
    expect(await earned()).toBe(PRICE)
  })

  // Koa destroys a body where the caller hangs up. Node ends one that was made of the web's as if it were whole.
  it('of the web that its app destroys is not taken for whole', async () => {
    const { seller, url, earned } = await selling(() => {
      const web = new ReadableStream({ start: controller => controller.enqueue(Buffer.from('a part')) })
      const stream = Readable.fromWeb(web as never)
      stream.once('data', () => setTimeout(() => stream.destroy(), 50)).pause()
      return stream
    })
    const { answer, ended } = await buying(seller, url)
    await expect(answer.text()).rejects.toThrow()
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true, brokenBy: 'seller' })
    expect(await earned()).toBe(PRICE)
  })

  it('of readable-stream is bytes, as one of Node is', async () => {
    const { seller, url } = await selling(() => foreign.Readable.from([Buffer.from('ab'), Buffer.from('c')]))
    const answer = await pay(seller, url, { body: {} })
    expect([answer.headers.get('content-type'), await answer.text()]).toEqual([
      'application/octet-stream',
      'abc',
    ])
  })

  it('may use its buffer again', async () => {
    const { seller, url } = await selling(async function* () {
      const buffer = Buffer.alloc(1)
      for (let at = 0; at < 6; at++) {
        buffer[0] = 97 + at
        yield buffer.toString()
      }
    })
    expect(await (await pay(seller, url, { body: {} })).text()).toBe(
      [...'abcdef'].map(letter => `data: ${letter}\n\n`).join(''),
    )
  })
})

describe('a reader that stops reading', () => {
  const endless: Source = () => ReadableStream.from(chunksFor(1_000_000))
  let written = 0
  async function* chunksFor(count: number) {
    for (let at = 0; at < count; at++, written++) yield Buffer.alloc(65_536)
  }

  /** Until every buffer on the way to a reader that reads nothing is full: turns of the event loop move nothing more. */
  async function full(): Promise<void> {
    for (let [still, before] = [0, written]; still < 50; ) {
      await setImmediate()
      if (written === before) still++
      else [still, before] = [0, written]
    }
  }

  /** A caller that reads the head of the answer, and nothing more. */
  async function stalled(url: string, headers: Record<string, string>) {
    const { hostname, port, pathname } = new URL(url)
    const socket = connect(Number(port), hostname)
    const head = once(socket, 'data')
    const lines = Object.entries({ host: hostname, 'content-length': '2', ...headers })
    socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.map(line => line.join(': ')).join('\r\n')}\r\n\r\n{}`)
    await head
    socket.pause()
    return socket
  }

  it('holds neither its key nor the server for longer than streamTimeout', async () => {
    const { clock, pass } = skippableClock()
    const options = { idempotency: {}, advanced: { clock }, shutdownTimeoutMs: 20_000 }
    const { seller, url } = await selling(endless, options, { streamTimeout: 100_000 })
    const headers = { ...(await signFor(seller, url, { body: {} })), ...KEY }
    const ended = seller.nextEnded()
    const socket = await stalled(url, headers)
    await full()
    pass(100_000)
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true, brokenBy: 'caller' })
    await expect
      .poll(async () => codeOf(await ask(url, { body: {}, headers })))
      .toEqual([409, 'answer_not_kept'])
    expect((await seller.server.shutdown('over')).outcome).toBe('drained')
    socket.destroy()
  })

  it('does not hold up a stop', async () => {
    const { seller, url } = await selling(endless, { shutdownTimeoutMs: 100 })
    const headers = await signFor(seller, url, { body: {} })
    const ended = seller.nextEnded()
    const socket = await stalled(url, headers)
    const stopped = seller.server.shutdown('over')
    expect(await ended).toMatchObject({ charged: 'yes', streamBroken: true })
    await stopped
    socket.destroy()
  })
})

it('a caller of HTTP/1.0, who could not tell a break from an end, gets the whole or nothing', async () => {
  const { seller, url, earned } = await selling(failing)
  const headers = await signFor(seller, url, { body: {} })
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  const lines = Object.entries({ 'content-length': '2', ...headers }).map(line => line.join(': '))
  socket.write(`POST /work HTTP/1.0\r\n${lines.join('\r\n')}\r\n\r\n{}`)
  const [answer] = await once(socket, 'data')
  expect(answer).toContain('500 Internal Server Error')
  expect(await earned()).toBe(0n)
  socket.destroy()
})

describe('a stream under a key', () => {
  it('is in progress while it runs', async () => {
    const { source, door } = paused()
    const { seller, url } = await selling(source, { idempotency: {} })
    const headers = { ...(await signFor(seller, url, { body: {} })), ...KEY }
    const first = await ask(url, { body: {}, headers })
    await door.entered()
    expect(await codeOf(await ask(url, { body: {}, headers }))).toEqual([409, 'idempotency_in_progress'])
    door.open()
    expect(await first.text()).toBe('data: one\n\ndata: two\n\n')
  })

  it.each(['release', 'replay'] as const)('is replayed where it was whole (%s)', async onLostResponse => {
    const { seller, url, earned } = await selling(words, { idempotency: { onLostResponse } })
    const headers = { ...(await signFor(seller, url, { body: {} })), ...KEY }
    const ended = seller.nextEnded()
    expect(await (await ask(url, { body: {}, headers })).text()).toBe(WORDS)
    await ended
    const again = await ask(url, { body: {}, headers })
    expect([
      again.headers.get('idempotency-replayed'),
      again.headers.get('content-type'),
      await again.text(),
    ]).toEqual(['true', 'text/event-stream; charset=utf-8', WORDS])
    expect(await earned()).toBe(PRICE)
  })

  it.each<[string, Source, object, unknown[]]>([
    ['broke, and lost answers are replayed', failing, { onLostResponse: 'replay' }, [409, 'answer_not_kept']],
    ['broke, and lost answers free their key', failing, {}, [409, 'answer_not_kept']],
    ['is larger than what is kept', words, { maxAnswerBytes: 10 }, [409, 'answer_not_kept']],
  ])('is not replayed where it %s', async (_, source, idempotency, expected) => {
    const { seller, url, earned } = await selling(source, { idempotency })
    const headers = { ...(await signFor(seller, url, { body: {} })), ...KEY }
    const ended = seller.nextEnded()
    await (await ask(url, { body: {}, headers })).text().catch(() => 'broken')
    await ended
    expect(await codeOf(await ask(url, { body: {}, headers }))).toEqual(expected)
    expect(await earned()).toBe(PRICE)
  })
})

describe('a stream in a window', () => {
  it('costs nothing more, and is marked where it breaks', async () => {
    const runs: EndedCall[] = []
    let isBroken = false
    const endpoint = { price: undefined, subscription: { price: '$0.01', period: '1h' } }
    const { seller, url, earned } = await selling(
      context => (isBroken ? failing(context) : words()),
      { stores: { runs: { list: () => runs, ended: run => void runs.push(run) } } },
      endpoint,
    )
    const bought = await pay(seller, url, { body: {} })
    const key = { 'x-svc-subscription': bought.headers.get('x-svc-subscription')! }
    expect(await bought.text()).toBe(WORDS)
    expect(await (await ask(url, { body: {}, headers: key })).text()).toBe(WORDS)
    isBroken = true
    await expect((await ask(url, { body: {}, headers: key })).text()).rejects.toThrow()
    await expect.poll(() => runs.at(-1)).toMatchObject({ final: 'served', charged: 'no', streamBroken: true })
    expect(await earned()).toBe(PRICE)
  })
})

describe('a transport that cannot stream', () => {
  it('answers a stream whole (A2A)', async () => {
    const { seller, url, earned } = await selling(words)
    const payment = await signFor(seller, url, { body: {} })
    const answer = await ask(`${seller.url}/a2a`, {
      body: rpc('message/send', messageOf('work', [{ kind: 'data', data: {} }])),
      headers: payment,
    })
    expect(JSON.stringify(await answer.json())).toContain('three')
    expect(await earned()).toBe(PRICE)
  })

  it('stops an endless stream at the handler’s timeout, and charges nothing', async () => {
    let isReturned = false
    let asked = 0
    const { seller, url, earned } = await selling(
      async function* () {
        try {
          for (;;) {
            asked++
            yield 'more'
            await new Promise(resolve => setTimeout(resolve, 1))
          }
        } finally {
          isReturned = true
        }
      },
      {},
      { timeout: 1_000 },
    )
    const payment = await signFor(seller, url, { body: {} })
    await ask(`${seller.url}/a2a`, {
      body: rpc('message/send', messageOf('work', [{ kind: 'data', data: {} }])),
      headers: payment,
    })
    await expect.poll(() => isReturned).toBe(true)
    expect(asked).toBeGreaterThan(0)
    expect(await earned()).toBe(0n)
  })

  it('charges nothing for one that breaks', async () => {
    const { seller, url, earned } = await selling(failing)
    const payment = await signFor(seller, url, { body: {} })
    await ask(`${seller.url}/a2a`, {
      body: rpc('message/send', messageOf('work', [{ kind: 'data', data: {} }])),
      headers: payment,
    })
    expect(await earned()).toBe(0n)
  })
})
