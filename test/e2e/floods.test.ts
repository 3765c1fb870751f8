/** Bodies without payment, too many or too slow: bounded memory, an event loop that goes on, and a clear answer. */
import { once } from 'node:events'
import { connect, type Server, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { startSandbox } from '../../src/sandbox.js'
import { type ChildAgent, childAgent } from '../support/child-agent.js'
import { closing } from '../support/closing.js'
import { gate, gated } from '../support/gate.js'
import { rawRequest } from '../support/raw-http.js'
import { ask, open, pay, signFor } from '../support/seller.js'

const MIB = 1_048_576

interface Measured {
  readonly peakBytes: number
  /** What single turns of the event loop took of the processor. */
  readonly busyMs: { readonly p99: number; readonly max: number }
}

async function flooded(options: Partial<ServeOptions> = {}): Promise<ChildAgent> {
  const sandbox = closing(await startSandbox())
  const child = await childAgent(sandbox, { handleSignals: false, ...options }, 'flooded-process.mjs')
  onTestFinished(() => void child.process.kill('SIGKILL'))
  return child
}

async function measure(child: ChildAgent): Promise<Measured> {
  child.letGo()
  return (await child.said('measured')).measured as Measured
}

/** Sends this much of a body that is said to be larger, and keeps the rest. Resolves when it is written, or refused. */
function slowBody(url: string, length: number, sent: number, path = '/echo') {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  socket.on('data', chunk => received.push(chunk))
  socket.on('error', () => {})
  const closed = new Promise<string>(resolve => {
    socket.once('close', () => resolve(Buffer.concat(received).toString('latin1')))
  })
  onTestFinished(() => void socket.destroy())
  const head = rawRequest('POST', path, [`Content-Length: ${length}`])
  const written = new Promise<void>(resolve => {
    socket.write(head + '"'.padEnd(sent, 'x'), () => resolve())
    socket.once('close', () => resolve())
  })
  const answered = () => answerOf(socket, received)
  return { socket, written, closed, answered }
}

/** The status and the body, once the head has come. */
async function answerOf(
  socket: Socket,
  received: readonly Buffer[],
): Promise<{ status: number; text: string }> {
  const text = Buffer.concat(received).toString('latin1')
  if (/\r\n\r\n.*\}$/s.test(text) || socket.destroyed) return { status: Number(text.slice(9, 12)), text }
  await Promise.race([once(socket, 'data'), once(socket, 'close')])
  return answerOf(socket, received)
}

describe('600 slow sockets, each with a body of 1 MiB', () => {
  it('take bounded memory, and health answers beside them', async () => {
    const child = await flooded()
    await ask(`${child.url}/echo`, { body: { text: 'x'.repeat(MIB - 20) } })
    const before = await measure(child)
    const slow: ReturnType<typeof slowBody>[] = []
    const health: number[] = []
    // Slow senders do not all send at once: that many bytes in one turn are the work of the network, not ours.
    while (slow.length < 600) {
      const some = Array.from({ length: 4 }, () => slowBody(child.url, MIB, MIB - 1))
      const [beside] = await Promise.all([
        fetch(`${child.url}/health`),
        ...some.map(({ written }) => written),
      ])
      health.push(beside.status)
      slow.push(...some)
    }
    const answers = await Promise.all(slow.slice(0, 500).map(({ answered }) => answered()))
    const after = await measure(child)
    // Those that began first have made way.
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    expect(answers[0]!.text).toMatch(/\r\nRetry-After: 5\r\n/)
    expect(answers[0]!.text).toContain('"overloaded"')
    // They offered 600 MiB.
    expect(after.peakBytes - before.peakBytes).toBeLessThan(200 * MIB)
    // Of the processor's time, not the clock's; a collection of garbage on a busy machine has taken 103.
    expect(after.busyMs.max).toBeLessThan(250)
    expect(new Set(health)).toEqual(new Set([200]))
    // A caller that is not slow is not in their place.
    expect((await ask(`${child.url}/echo`, { body: { text: 'x' } })).status).toBe(402)
  })
})

describe('bodies that are costly to check', () => {
  it('let health answer beside them', async () => {
    const child = await flooded()
    const items = Array.from({ length: 60_000 }, (_, at) => ({ item: at }))
    const bodies = [{ items }, { text: `${'a'.repeat(1_000_000)}!` }]
    const floods = Promise.all(bodies.map(body => ask(`${child.url}/checked`, { body })))
    const health = await fetch(`${child.url}/health`)
    expect(health.status).toBe(200)
    expect((await floods).map(({ status }) => status)).toEqual([402, 400])
  })
})

describe('the bound on bodies that are not paid', () => {
  const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body })
  const tight = { maxBodyBytes: 100_000, advanced: { maxUnpaidBodyBytes: 200_000 } }

  it('gives back what a body held when it is complete, refused, or cut off', async () => {
    const { url } = await open([echo], tight)
    const body = { text: 'x'.repeat(90_000) }
    for (let count = 0; count < 10; count++) {
      expect((await ask(`${url}/echo`, { body })).status).toBe(402)
      expect((await ask(`${url}/echo`, { body: [body, body] })).status).toBe(413)
      const { socket, written } = slowBody(url, 100_000, 90_000)
      await written
      socket.destroy()
      await once(socket, 'close')
    }
    const [one, two] = await Promise.all([ask(`${url}/echo`, { body }), ask(`${url}/echo`, { body })])
    expect([one.status, two.status]).toEqual([402, 402])
  })

  it('lets a body that arrives now take the place of one that does not go on', async () => {
    const { url } = await open([echo], tight)
    const slow = [slowBody(url, 100_000, 90_000), slowBody(url, 100_000, 90_000)]
    await Promise.all(slow.map(({ written }) => written))
    expect((await ask(`${url}/echo`, { body: { text: 'x'.repeat(80_000) } })).status).toBe(402)
    const { status, text } = await slow[0]!.answered()
    expect({ status, text }).toEqual({ status: 503, text: expect.stringContaining('"overloaded"') })
    // The other is still welcome.
    slow[1]!.socket.write(`${'x'.repeat(9_999)}"`)
    expect((await slow[1]!.answered()).status).toBe(402)
  })

  it('refuses a new body where all others are complete and wait', async () => {
    const pricing = gate()
    const asked = defineEndpoint({
      name: 'asked',
      async price() {
        pricing.enter()
        await pricing.opened
        return '$0.01'
      },
      handler: () => 1,
    })
    const { url } = await open([asked, echo], tight)
    const body = { text: 'x'.repeat(90_000) }
    const waiting = [ask(`${url}/asked`, { body }), ask(`${url}/asked`, { body })]
    await pricing.entered(2)
    for (const path of ['/echo', '/a2a', '/mcp']) {
      const refused = await ask(url + path, { body })
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBe('5')
      expect(await refused.text()).toContain('arrive at once')
    }
    expect((await ask(`${url}/echo`)).status, 'a request without a body').toBe(402)
    pricing.open()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([402, 402])
    expect((await ask(`${url}/echo`, { body })).status).toBe(402)
  })

  it('does not count what is paid: a handler at work holds nothing of it', async () => {
    const door = gated()
    const seller = await open([door.endpoint, echo], tight)
    const body = { text: 'x'.repeat(90_000) }
    const calls: Promise<Response>[] = []
    for (let count = 1; count <= 3; count++) {
      const headers = await signFor(seller, `${seller.url}/slow`)
      calls.push(ask(`${seller.url}/slow`, { body, headers }))
      await door.entered(count)
    }
    expect((await pay(seller, `${seller.url}/echo`, { body })).status).toBe(200)
    door.open()
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200])
  })

  it('counts what small pieces take beside their bytes', async () => {
    const { url } = await open([echo], tight)
    const { socket, answered } = slowBody(url, 100_000, 1)
    const piece = () => socket.write('x', () => void (socket.destroyed || setImmediate(piece)))
    piece()
    expect((await answered()).status).toBe(503)
  })

  it('is not below what a body may be', async () => {
    const large = defineEndpoint({ name: 'large', price: '$0.01', maxBodyBytes: 150_000, handler: () => 1 })
    await expect(open([large], tight)).rejects.toMatchObject({ code: 'invalid_options' })
    await expect(open([echo], { ...tight, advanced: { maxUnpaidBodyBytes: 0 } })).rejects.toMatchObject({
      code: 'invalid_options',
    })
  })
})

describe('callers that take their time', () => {
  const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body })

  it('are answered 408 when a body does not come, and their connection ends', async () => {
    const { url, server } = await open([echo], { advanced: { requestTimeout: 500 } })
    const gone = goneFrom(server)
    const { closed } = slowBody(url, 1_000, 10)
    expect(await closed).toMatch(/^HTTP\/1\.1 408 .*"request_timeout"/s)
    await gone
    expect(await connectionsOf(server)).toBe(0)
  })

  it('are answered 408 when headers do not come', async () => {
    const { url } = await open([echo], { advanced: { requestTimeout: 500 } })
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => socket.write('POST /echo HTTP/1.1\r\nHost: '))
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('and never end their side lose the connection all the same', async () => {
    const { url, server } = await open([echo], { advanced: { requestTimeout: 500 } })
    const { hostname, port } = new URL(url)
    const gone = goneFrom(server)
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.write('POST /echo HTTP/1.1\r\nHost: ')
    socket.resume()
    await gone
    expect(await connectionsOf(server)).toBe(0)
  })

  it('are as many as the seller says', async () => {
    const { url, server } = await open([echo], { advanced: { maxConnections: 2 } })
    const kept = [slowBody(url, 1_000, 10), slowBody(url, 1_000, 10)]
    await Promise.all(kept.map(({ written }) => written))
    const dropped = once(server, 'drop')
    expect(await slowBody(url, 1_000, 10).closed).toBe('')
    await dropped
    expect(kept.map(({ socket }) => socket.destroyed)).toEqual([false, false])
  })

  it('have ten seconds for headers, thirty for a request, and 4096 connections', async () => {
    const { server } = await open([echo])
    const { headersTimeout, requestTimeout, maxConnections } = server
    expect({ headersTimeout, requestTimeout, maxConnections }).toEqual({
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      maxConnections: 4096,
    })
    const short = await open([echo], { advanced: { requestTimeout: 5_000 } })
    expect(short.server.headersTimeout).toBe(5_000)
  })

  it.each([{ requestTimeout: Number.POSITIVE_INFINITY }, { maxConnections: -1 }])(
    'the options %o are refused',
    async advanced => {
      await expect(open([echo], { advanced })).rejects.toMatchObject({ code: 'invalid_options' })
    },
  )
})

/** Resolves when the next connection has come and has gone. */
function goneFrom(server: Server): Promise<void> {
  return new Promise(resolve => server.once('connection', socket => socket.once('close', () => resolve())))
}

function connectionsOf(server: Server) {
  return new Promise<number>(resolve => server.getConnections((_, count) => resolve(count)))
}
