/** What a handler gets beside its input: the cost that it may say, its log without secrets, and word that the call is over. */
import { channel } from 'node:diagnostics_channel'
import { describe, expect, it } from 'vitest'
import { deliver, serve } from '../../src/app/charge/effects/deliver.js'
import { Cancellation, contextOf, madeOf } from '../../src/app/charge/make-handler-context.js'
import { type Given, oneCall } from '../support/one-call.js'

const requirements = { amount: '10000', asset: '31566704' } as never

function contextual(given: Given = {}, call: object = { requirements }) {
  const scene = oneCall({ paid: {}, ...given })
  Object.assign(scene.call.terms, { handlerMs: 30_000, ...call })
  const cancellation = new Cancellation()
  const context = contextOf(scene.world, scene.call, cancellation)
  return { ...scene, cancellation, context }
}

/** What is published while `run` runs. */
async function heard(name: string, run: () => unknown): Promise<unknown[]> {
  const messages: unknown[] = []
  const hear = (message: unknown) => void messages.push(message)
  channel(name).subscribe(hear)
  await run()
  channel(name).unsubscribe(hear)
  return messages
}

describe('the cost that a handler says', () => {
  const balance = (more: object = {}) => ({ reserved: 10_000, ...more }) as never

  it('is counted on a balance up to what was reserved, to the unit', () => {
    for (const [usd, said] of [
      ['$0', 0],
      ['$0.004', 4_000],
      ['$0.01', 10_000],
    ] as const) {
      const { call, context } = contextual({}, { requirements: undefined })
      Object.assign(call, { balance: balance() })
      context.charge(usd)
      expect(call.balance).toMatchObject({ said })
    }
  })

  it.each([
    ['$0.010001', "charge: '$0.010001' is more than the price, $0.01"],
    ['much', "charge: 'much' is no USD amount"],
  ])('beyond it is nonsense, and thrown in the handler: %s', (usd, message) => {
    const { call, context } = contextual({}, { requirements: undefined })
    Object.assign(call, { balance: balance() })
    expect(() => context.charge(usd)).toThrow(message)
    expect(call.balance).toMatchObject({ said: 'nonsense' })
  })

  it('of a call that is paid by itself is at most its price, and changes nothing', () => {
    const { call, context } = contextual()
    context.charge('$0.01')
    expect(() => context.charge('$0.010001')).toThrow('is more than the price, $0.01')
    expect(call.balance).toBeUndefined()
  })

  it('of a call in a window may be any amount, and none that is no amount', () => {
    const { context } = contextual({}, { requirements: undefined })
    context.charge('$5')
    expect(() => context.charge('much')).toThrow('is no USD amount')
  })

  it('comes too late once the call was charged', () => {
    const { call, context } = contextual({}, { requirements: undefined })
    Object.assign(call, { balance: balance({ charged: 0 }) })
    expect(() => context.charge('$0')).toThrow('charge came after the call was charged')
  })

  it('fails the call where it is nonsense, also where the handler catches that; another one is measured', async () => {
    for (const [usd, answer] of [
      ['much', 'failed'],
      ['$0.01', 'measured'],
    ] as const) {
      const handler = (ctx: { charge(usd: string): void }) => {
        try {
          ctx.charge(usd)
        } catch {}
        return 'work'
      }
      const { call, ended } = oneCall({ def: { handler } })
      Object.assign(call, { balance: balance() })
      expect((await ended(serve)).answer).toBe(answer)
      expect(call.handled.answer === undefined).toBe(answer === 'failed')
    }
    const { call, ended } = oneCall({ def: { handler: () => Promise.reject(new Error('broken')) } })
    Object.assign(call, { balance: balance() })
    expect((await ended(serve)).answer).toBe('failed')
  })
})

describe('the log of a handler', () => {
  it('keeps its last twenty entries', () => {
    const { call, context } = contextual()
    for (let at = 1; at <= 22; at++) context.log(`entry ${at}`)
    expect(call.handled.logs.map(({ message }) => message)).toEqual(
      Array.from({ length: 20 }, (_, at) => `entry ${at + 3}`),
    )
    expect(Object.keys(call.handled.logs[0]!)).toEqual(['atMs', 'message'])
  })

  it('tells the seller alone what is private, and a tool beside the program both', async () => {
    const { call, context, said } = contextual()
    const about = { endpoint: 'work', traceId: call.traceId }
    const messages = await heard('svc.handler.logged', () => {
      context.log('for all', 1)
      context.log.private('for me', 2)
    })
    expect(call.handled.logs.map(({ message }) => message)).toEqual(['for all'])
    expect(said).toEqual(['for all', 'for me'])
    expect(messages).toEqual([
      { message: 'for all', data: 1, ...about },
      { message: 'for me', data: 2, ...about },
    ])
  })

  it('is its caller’s as it was said, whatever a logger adds to what it is told', () => {
    const { call, context, world } = contextual()
    const info = (fields: { data?: object }) => Object.assign(fields.data ?? {}, { host: 'db-1.internal' })
    Object.assign(world, { logger: { ...world.logger, info } })
    context.log('began', { step: 1 })
    expect(call.handled.logs).toMatchObject([{ message: 'began', data: { step: 1 } }])
    expect(JSON.stringify(call.handled.logs)).not.toContain('internal')
  })

  it('masks what is named like a secret, and warns of the first', () => {
    const { call, context, said } = contextual()
    const names = [
      'password',
      'apikey',
      'api_key',
      'API-Key',
      'privateKey',
      'private_key',
      'x-token',
      'Cookie',
    ]
    for (const name of names) context.log('secret', { [name]: 'hush', in: { [name]: { deep: 'hush' } } })
    expect(JSON.stringify(call.handled.logs)).not.toContain('hush')
    expect(said.filter(message => message.includes('is masked'))).toHaveLength(1)
    call.handled.logs.length = 0
    const plain = { tokens: 120, token: null, secret: '', key: 'k' }
    context.log('no secret', plain)
    expect(call.handled.logs[0]!.data).toEqual(plain)
  })

  it('warns of nothing where nothing is masked', () => {
    const { context, said } = contextual()
    context.log('plain', { a: 1 })
    context.log('secret', { token: 'hush' })
    expect(said).toEqual([
      'plain',
      'a log entry has a field that is named like a secret: it is masked',
      'secret',
    ])
  })

  it('names an error, cuts what is long, and says what is not JSON', () => {
    const { call, context } = contextual()
    const circle: { at?: unknown } = {}
    circle.at = circle
    const fits = 'x'.repeat(1_998)
    for (const data of [{ cause: new TypeError('private') }, fits, `${fits}x`, circle, () => {}])
      context.log('data', data)
    expect(call.handled.logs.map(({ data }) => data)).toEqual([
      { cause: 'TypeError' },
      fits,
      `"${fits}x…`,
      'not JSON',
      null,
    ])
  })
})

describe('a handler', () => {
  it('has the key of its call: the one under which it is kept, else the caller’s', () => {
    const { call, world } = contextual({ request: { idempotencyKey: 'asked' } })
    const keyOf = () => contextOf(world, call, new Cancellation()).idempotencyKey
    call.holds.key = 'kept'
    expect(keyOf()).toBe('kept')
    call.holds.key = undefined
    expect(keyOf()).toBe('asked')
  })

  it('of our own is told its request and when it is over, before and after', () => {
    const { call, context, cancellation } = contextual()
    expect(madeOf(context)).toEqual({ cancellation, request: call.request })
    let told = 0
    cancellation.onCancel(() => told++)
    expect(told).toBe(0)
    cancellation.cancel('over')
    expect(told).toBe(1)
    cancellation.onCancel(() => told++)
    expect(told).toBe(2)
  })

  it('that fails is told of to a tool beside the program; its words are kept where the seller wants them', async () => {
    const error = new Error('broken')
    for (const [keepsMessages, thrown] of [
      [true, 'Error: broken'],
      [false, undefined],
    ] as const) {
      const scene = oneCall({
        paid: {},
        def: { handler: () => Promise.reject(error) },
        rules: { keepsMessages },
      })
      Object.assign(scene.call.terms, { handlerMs: 30_000, requirements })
      const messages = await heard('svc.handler.failed', () => scene.ended(deliver))
      expect(messages).toEqual([{ endpoint: 'work', traceId: scene.call.traceId, error }])
      expect(scene.call.handled.thrown).toBe(thrown)
    }
  })
})
