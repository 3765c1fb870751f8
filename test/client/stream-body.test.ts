/** A body that is handed over: what its reader gets, and what its source is asked for. */
import { describe, expect, it } from 'vitest'
import { Timeline } from '../../proof/simulation/kernel/timeline.js'
import { exchangeOver, openReply } from '../../src/app/client/http-reply.js'
import { type Watch, watchedBody } from '../../src/app/client/read-streamed-answer.js'
import { SdkError } from '../../src/domain/errors.js'
import { clockOf } from '../support/virtual-clock.js'

const IDLE_MS = 1_000

/** A source that gives a piece when the test says so, watched on a clock that the test moves. */
function watching({ signal }: { signal?: AbortSignal } = {}) {
  const seen = { asked: 0, left: 0 }
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const source = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      pull() {
        seen.asked++
      },
      cancel() {
        seen.left++
      },
    },
    { highWaterMark: 0 },
  )
  const timeline = new Timeline()
  const watch: Watch = {
    signal,
    clock: clockOf(timeline),
    idleTimeoutMs: IDLE_MS,
    broken: cause => new SdkError(cause, 'stream_broken'),
    aborted: () => new SdkError('by the caller', 'aborted'),
  }
  return { seen, timeline, controller, reader: watchedBody(source, watch).getReader() }
}

describe('a body that is handed over', () => {
  it('asks its source for a piece when its reader does, and not before', async () => {
    const { seen, controller, reader } = watching()
    await Promise.resolve()
    expect(seen.asked).toBe(0)
    const read = reader.read()
    controller.enqueue(Buffer.from('one'))
    expect(Buffer.from((await read).value!).toString()).toBe('one')
    expect(seen.asked).toBe(1)
    const end = reader.read()
    controller.close()
    expect(await end).toEqual({ done: true, value: undefined })
  })

  it('that breaks says so', async () => {
    const { controller, reader } = watching()
    const read = reader.read()
    controller.error(new TypeError('terminated'))
    await expect(read).rejects.toMatchObject({ code: 'stream_broken', message: 'terminated' })
  })

  it('is broken by a silence, but not by a reader that takes its time', async () => {
    const { seen, timeline, controller, reader } = watching()
    await timeline.run(10 * IDLE_MS)
    const first = reader.read()
    controller.enqueue(Buffer.from('one'))
    await first
    await timeline.run(20 * IDLE_MS)
    const broken = expect(reader.read()).rejects.toMatchObject({
      code: 'stream_broken',
      message: `no bytes within ${IDLE_MS} ms`,
    })
    await timeline.run(21 * IDLE_MS)
    await broken
    expect(seen.left).toBe(1)
  })

  it('ends with the caller’s signal, whether anybody waits or not', async () => {
    for (const waits of [true, false]) {
      const caller = new AbortController()
      const { seen, reader } = watching({ signal: caller.signal })
      const waiting = waits ? reader.read() : undefined
      caller.abort()
      await expect(waiting ?? reader.read()).rejects.toMatchObject({ code: 'aborted' })
      expect(seen.left).toBe(1)
    }
  })

  it('is over at once where the signal has fired before', async () => {
    const { seen, reader } = watching({ signal: AbortSignal.abort() })
    await expect(reader.read()).rejects.toMatchObject({ code: 'aborted' })
    expect(seen.left).toBe(1)
  })

  it('that its reader cancels ends its source, once', async () => {
    const caller = new AbortController()
    const { seen, reader } = watching({ signal: caller.signal })
    await reader.cancel()
    caller.abort()
    expect(seen.left).toBe(1)
  })
})

describe('an answer that may be a stream', () => {
  it('is left unread where it is a success, also without a body', async () => {
    const reply = await openReply(new Response('text', { status: 201 }))
    expect([reply.status, reply.bytes.length]).toEqual([201, 0])
    expect(await new Response(reply.body).text()).toBe('text')
    expect(await new Response((await openReply(new Response(null, { status: 204 }))).body).text()).toBe('')
  })

  it.each([402, 302, 400, 500])('is read whole at %i', async status => {
    const reply = await openReply(new Response('text', { status }))
    expect(reply.body).toBeUndefined()
    expect(Buffer.from(reply.bytes).toString()).toBe('text')
  })
})

describe('the time limit of an answer', () => {
  const request = { url: new URL('https://agent.example/'), method: 'POST', headers: {} }

  it('bounds the head of a stream, and not its bytes', async () => {
    const timeline = new Timeline()
    let signal!: AbortSignal
    const send: typeof fetch = async (_, init) => {
      signal = init!.signal!
      return new Response('text')
    }
    const sent = await exchangeOver(send, clockOf(timeline), openReply)(request, 1_000)
    await timeline.run(10_000)
    expect([sent.kind, signal.aborted]).toEqual(['answered', false])
  })

  it('ends a wait for a head', async () => {
    const timeline = new Timeline()
    const send: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) =>
        init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason)),
      )
    const sent = exchangeOver(send, clockOf(timeline), openReply)(request, 1_000)
    await timeline.run(1_000)
    expect(await sent).toEqual({ kind: 'lost', cause: 'no answer within 1000 ms' })
  })
})
