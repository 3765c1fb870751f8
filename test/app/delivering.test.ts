/** Running the handler, by itself on virtual time: what ends a run, what of it counts after that, and what a handler is told. */
import { describe, expect, it } from 'vitest'
import { deliver, serve } from '../../src/app/charge/effects/deliver.js'
import { SvcError } from '../../src/domain/errors.js'
import { ForwardedAnswer, type HandlerContext, type StreamSource } from '../../src/domain/handler.js'
import { fieldsOf } from '../support/call-fields.js'
import { type Given, oneCall, START_MS, TESTNET_USDC } from '../support/one-call.js'

const requirements = { amount: '10000', asset: '31566704' } as never

/** A call whose handler is the one given; `ctx` is what it was told, once it was run. */
function running(handler: (ctx: HandlerContext) => unknown, given: Given = {}) {
  const told: HandlerContext[] = []
  const run = (ctx: HandlerContext) => {
    told.push(ctx)
    return handler(ctx)
  }
  const call = { handlerMs: 30_000, requirements, ...given.call }
  const scene = oneCall({ paid: {}, ...given, def: { ...given.def, handler: run }, call })
  return { ...scene, told, passes: (ms: number) => new Promise<void>(done => scene.timeline.after(ms, done)) }
}

const hangs = () => new Promise(() => {})

describe('a run of the handler', () => {
  it('delivers what it returns', async () => {
    const { ended, call, told, listeners, said } = running(() => ({ done: true }))
    expect(await ended(deliver)).toEqual({ answer: 'delivered', ms: 0 })
    expect(call.handled.answer).toMatchObject({ status: 200, body: '{"done":true}' })
    expect(call.end.problem).toBeUndefined()
    expect(told).toHaveLength(1)
    expect(told[0]!.signal.aborted).toBe(false)
    expect(listeners()).toBe(0)
    expect(said).toEqual([])
  })

  it('delivers what has to be read first', async () => {
    const { ended, call } = running(async () => new Response('made', { status: 201 }))
    expect((await ended(deliver)).answer).toBe('delivered')
    expect(call.handled.answer!.status).toBe(201)
    expect(Buffer.from(call.handled.answer!.body).toString()).toBe('made')
  })

  it.each<[string, number, number, number, string, number]>([
    ['its endpoint’s deadline', 30_000, 30_000, 60_000, 'timedOut', 30_000],
    ['the payment’s, as it was verified', 30_000, 8_000, 60_000, 'expired', 8_000],
    ['the payment’s, after waiting for credit', 30_000, 30_000, 4_000, 'expired', 4_000],
    ['no payment’s that is not known', 30_000, 30_000, Number.POSITIVE_INFINITY, 'timedOut', 30_000],
  ])('that hangs ends at %s', async (_, timeout, handlerMs, leftMs, answer, ms) => {
    const { ended, call, told } = running(hangs, {
      def: { timeout },
      call: { handlerMs, settleByMs: START_MS + leftMs, requirements },
    })
    expect(await ended(deliver)).toEqual({ answer, ms })
    expect(call.end.refusal === undefined).toBe(answer === 'timedOut')
    expect(call.handled.answer).toBeUndefined()
    expect(told[0]!.signal.aborted).toBe(true)
  })

  it.each([0, -1])('does not begin for a payment that cannot settle any more: %i ms left', async leftMs => {
    const { ended, call, told } = running(() => 'done', {
      call: { handlerMs: 30_000, settleByMs: START_MS + leftMs, requirements },
    })
    expect(await ended(deliver)).toEqual({ answer: 'expired', ms: 0 })
    expect(told).toEqual([])
    expect(call.end.refusal).toContain('nothing was charged')
  })

  it('fails as itself, also where the payment would have cut it', async () => {
    const { ended, call } = running(() => Promise.reject(new Error('broken')), {
      call: { handlerMs: 8_000, requirements },
    })
    expect((await ended(deliver)).answer).toBe('failed')
    expect(call.end.refusal).toBeUndefined()
  })

  it('in a window has the endpoint’s whole deadline', async () => {
    const { ended, call } = running(hangs, {
      def: { timeout: 12_000 },
      call: { handlerMs: 8_000, settleByMs: 0 },
    })
    expect(await ended(serve)).toEqual({ answer: 'timedOut', ms: 12_000 })
    expect(call.end.refusal).toBeUndefined()
  })

  it.each<['hangUp' | 'cut', string]>([
    ['hangUp', 'abandoned'],
    ['cut', 'stopped'],
  ])('does not begin, or ends, where the answer can reach nobody: %s', async (ends, answer) => {
    const before = running(() => 'done')
    before[ends]()
    expect(await before.ended(deliver)).toEqual({ answer, ms: 0 })
    expect(before.told).toEqual([])
    const during = running(hangs)
    during.timeline.after(700, during[ends])
    expect(await during.ended(deliver)).toEqual({ answer, ms: 700 })
    expect(during.told[0]!.signal.aborted).toBe(true)
    expect(during.told[0]!.signal.reason.message).toContain(answer)
    expect(during.listeners()).toBe(0)
  })

  it('leaves no timer behind', async () => {
    const { ended, timeline, told } = running(() => 'done')
    await ended(deliver)
    await timeline.run(START_MS + 60_000)
    expect(told[0]!.signal.aborted).toBe(false)
    expect(timeline.isEmpty).toBe(true)
  })
})

describe('after its end, a run', () => {
  it.each<[string, () => unknown]>([
    ['returns', () => ({ late: true })],
    ['answers a failure', () => Response.json({ error: { code: 'payment_spent' } }, { status: 500 })],
    ['throws', () => Promise.reject(new SvcError('late', 'late', 503))],
  ])('that %s changes nothing', async (_, late) => {
    const { ended, call, timeline, passes, said } = running(async () => {
      await passes(31_000)
      return late()
    })
    expect((await ended(deliver)).answer).toBe('timedOut')
    await timeline.run(START_MS + 40_000)
    expect(fieldsOf(call)).toMatchObject({ answer: undefined, problem: undefined })
    expect(said).toEqual([])
  })

  it('sees that it is over, whether it listened before or looks only then', async () => {
    const heard: string[] = []
    const listening = running(({ signal }) => {
      signal.addEventListener('abort', () => heard.push(signal.reason.message))
      return hangs()
    })
    await listening.ended(deliver)
    expect(heard).toEqual([expect.stringContaining('timedOut')])
    const late = running(hangs)
    await late.ended(deliver)
    const { signal } = late.told[0]!
    expect(signal.aborted).toBe(true)
    expect(signal.reason.message).toBe(heard[0])
    expect(late.told[0]!.signal).toBe(signal)
  })
})

describe('a failure', () => {
  const failed = async (handler: () => unknown) => {
    const { ended, call, said, told } = running(handler)
    const { answer } = await ended(deliver)
    return {
      answer,
      problem: call.end.problem,
      kept: call.handled.answer,
      said,
      aborted: told[0]!.signal.aborted,
    }
  }

  it('that is thrown is told in the words that were chosen for callers', async () => {
    const told = await failed(() => {
      throw new SvcError('no such page', 'no_page', 404)
    })
    const problem = { message: 'no such page', code: 'no_page', status: 404 }
    expect(told).toMatchObject({ answer: 'failed', problem, kept: undefined, aborted: false })
    expect(told.said).toHaveLength(1)
  })

  it('that is thrown with words that only the server may say is told in others, and the seller hears of it', async () => {
    const told = await failed(() => Promise.reject(new SvcError('spent', 'payment_spent')))
    expect(told).toMatchObject({ answer: 'failed', kept: undefined })
    expect(told.problem!.code).toBeUndefined()
    expect(told.said).toHaveLength(2)
  })

  it('that cannot even be looked at is one', async () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no')
        },
        getPrototypeOf: () => {
          throw new Error('no')
        },
      },
    )
    expect((await failed(() => Promise.reject(hostile))).answer).toBe('failed')
  })

  it('that cannot be rendered is one', async () => {
    expect(await failed(() => undefined)).toMatchObject({ answer: 'failed', kept: undefined, problem: {} })
  })

  it.each([400, 503])('that is answered with %i is passed on as it is', async status => {
    const told = await failed(() => Response.json({ error: 'no' }, { status }))
    expect(told).toMatchObject({ answer: 'failed', kept: { status }, problem: undefined, said: [] })
  })

  it('that is answered in words that only the server may say is not passed on', async () => {
    const told = await failed(() => Response.json({ accepts: [] }, { status: 402 }))
    expect(told).toMatchObject({ answer: 'failed', kept: undefined, problem: {} })
    expect(told.said).toHaveLength(1)
  })

  it('that is only returned as data is an answer, and its seller is warned once', async () => {
    const { ended, world, call, said } = running(() => ({ status: 404, error: 'no page' }))
    expect((await ended(deliver)).answer).toBe('delivered')
    expect(said).toHaveLength(1)
    await deliver(world, call)
    expect(said).toHaveLength(1)
  })
})

describe('a stream', () => {
  const text = (body: string | Uint8Array) => Buffer.from(body).toString()
  /** Two chunks, then the end. */
  function source() {
    const chunks = ['one ', 'two'].map(chunk => ({ done: false as const, bytes: Buffer.from(chunk) }))
    return { next: async () => chunks.shift() ?? { done: true as const }, end: () => {} }
  }
  const forwarded = (status: number, body?: StreamSource) =>
    new ForwardedAnswer({ status, headers: {}, body: body ? '' : 'whole' }, body)

  it('stays open for a caller who takes streams, and is no answer yet that could be checked', async () => {
    for (const handler of [() => new Blob(['one two']).stream(), () => forwarded(200, source())]) {
      const checked: unknown[] = []
      const given = { def: { stream: true }, request: { streams: true } } as const
      const endpoint = { checkAnswer: (answer: unknown) => void checked.push(answer) }
      const { ended, call } = running(handler, { ...given, endpoint })
      expect((await ended(deliver)).answer).toBe('delivered')
      expect(call.handled.source).toBeDefined()
      expect(text(call.handled.answer!.body)).toBe('')
      expect(checked).toEqual([])
    }
  })

  it.each<[string, boolean, number, string]>([
    ['for a caller who takes none', false, 200, 'delivered'],
    ['that is a failure', true, 400, 'failed'],
    ['that is a worse one', true, 503, 'failed'],
  ])('%s is read to its end first', async (_, streams, status, answer) => {
    const { ended, call } = running(() => forwarded(status, source()), { request: { streams } })
    expect((await ended(deliver)).answer).toBe(answer)
    expect(call.handled.source).toBeUndefined()
    expect(call.handled.answer!.status).toBe(status)
    expect(text(call.handled.answer!.body)).toBe('one two')
  })

  it('is not made of an answer that was forwarded whole', async () => {
    for (const streams of [true, false]) {
      const { ended, call } = running(() => forwarded(201), { request: { streams } })
      expect((await ended(deliver)).answer).toBe('delivered')
      expect(call.handled).toMatchObject({ answer: { status: 201, body: 'whole' }, source: undefined })
    }
  })

  it('is not made of an answer that is none, which is checked', async () => {
    const checked: unknown[] = []
    const endpoint = { checkAnswer: (answer: unknown) => void checked.push(answer) }
    const { ended, call } = running(() => ({ done: true }), { def: { stream: true }, endpoint })
    expect((await ended(deliver)).answer).toBe('delivered')
    expect(checked).toEqual([call.handled.answer])
  })
})

describe('a handler', () => {
  const contextOf = async (given: Given = {}) => {
    const { ended, told, call, timeline } = running(() => 'done', given)
    await ended(given.call?.requirements === undefined && given.call ? serve : deliver)
    return { ctx: told[0]!, call, timeline }
  }

  it('is told the request, and who pays what', async () => {
    const request = { headers: { a: 'b' }, query: { c: 'd' }, idempotencyKey: 'key' }
    const { ctx, call } = await contextOf({ request, call: { input: { e: 1 }, requirements } })
    const { body, headers, query, idempotencyKey, traceId, payment } = ctx
    expect({ body, headers, query, idempotencyKey }).toEqual({ ...request, body: { e: 1 } })
    expect(traceId).toBe(call.traceId)
    expect(payment).toEqual({ txId: 'TX', payer: 'PAYER', amount: '10000', usd: 0.01, asset: '31566704' })
  })

  it('in a window is told that nothing is paid', async () => {
    const { ctx } = await contextOf({ call: { requirements: undefined } })
    expect(ctx.payment).toEqual({ amount: '0', asset: TESTNET_USDC })
  })

  it('has a log of its own', async () => {
    const { ctx, call, timeline } = await contextOf()
    timeline.nowMs = 5
    ctx.log('what', { a: 1 })
    expect(call.handled.logs).toEqual([{ atMs: 5, message: 'what', data: { a: 1 } }])
  })

  it('may pass its context on, with its signal or with another', async () => {
    const { ended, told } = running(hangs)
    await ended(deliver)
    expect({ ...told[0]! }.signal).toBe(told[0]!.signal)
    expect(told[0]!.signal.aborted).toBe(true)
    const other = new AbortController().signal
    expect(Object.defineProperty(told[0]!, 'signal', { value: other }).signal).toBe(other)
  })
})
