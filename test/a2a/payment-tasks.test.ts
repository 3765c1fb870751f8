/** A2A's x402 extension: an unpaid message is a task that waits, and a message on that task pays it. */
import { generateAccount, secretKeyToMnemonic } from 'algosdk'
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type ServeOptions, SvcError } from '../../src/index.js'
import { post } from '../support/doors.js'
import {
  ACTIVATED,
  begin,
  begun,
  EXTENSION,
  lastTxId,
  paying,
  received,
  rejecting,
  send,
  textOf,
} from '../support/payment-tasks.js'
import { open, type Seller, signFor, signQuote } from '../support/seller.js'

type Fields = Readonly<Record<string, unknown>>

const input = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } as const

async function selling(options: Partial<ServeOptions> = {}) {
  const seen = { runs: 0, keys: [] as unknown[] }
  const shout = defineEndpoint({
    name: 'shout',
    price: '$0.01',
    input,
    handler({ body, idempotencyKey }) {
      seen.keys.push(idempotencyKey)
      return { run: ++seen.runs, said: body.text.toUpperCase() }
    },
  })
  const find = defineEndpoint({
    name: 'find',
    method: 'GET',
    price: ({ body: { n = 1 } }) => `$0.0${n}`,
    input: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
    handler: ({ body }) => ({ n: body.n }),
  })
  const broken = defineEndpoint({
    name: 'broken',
    price: '$0.01',
    handler() {
      seen.runs++
      throw new SvcError('no model today', 'model_down', 502)
    },
  })
  const refusing = defineEndpoint({
    name: 'refusing',
    price: '$0.01',
    handler: () => Response.json({ why: 'no' }, { status: 418 }),
  })
  const bytes = defineEndpoint({
    name: 'bytes',
    bodyType: 'bytes',
    price: '$0.01',
    handler: ({ body }) => ({ got: [...body] }),
  })
  const feed = defineEndpoint({
    name: 'feed',
    subscription: { price: '$0.02', period: '1h' },
    handler: () => ({ news: 'none' }),
  })
  const seller = await open([shout, find, broken, refusing, bytes, feed], options)
  return { seller, seen, url: seller.url }
}

const on = (skillId: string, data: object) => ({ parts: [{ kind: 'data', data }], metadata: { skillId } })

describe('a client that activates the extension', () => {
  it('gets a task that waits, pays it in a message, and gets the answer with the receipt', async () => {
    const { seller, seen, url } = await selling()
    const unpaid = await send(url, { ...textOf('hello'), contextId: 'c-7' })
    expect(unpaid.status).toBe(200)
    expect(unpaid.headers.get('x-a2a-extensions')).toBe(EXTENSION)
    expect(unpaid.headers.get('payment-required')).toBeNull()
    expect(unpaid.task).toEqual({
      kind: 'task',
      id: expect.any(String),
      contextId: 'c-7',
      status: {
        state: 'input-required',
        timestamp: expect.any(String),
        message: {
          kind: 'message',
          messageId: expect.any(String),
          role: 'agent',
          taskId: unpaid.task!.id,
          contextId: 'c-7',
          parts: [{ kind: 'text', text: 'Payment required' }],
          metadata: {
            'x402.payment.status': 'payment-required',
            'x402.payment.required': {
              x402Version: 2,
              error: 'Payment required',
              resource: expect.objectContaining({ url: `${url}/shout` }),
              accepts: Array(2).fill(expect.objectContaining({ scheme: 'exact', amount: '10000' })),
              extensions: expect.any(Object),
            },
          },
        },
      },
    })
    const required = unpaid.metadata['x402.payment.required'] as never
    const paid = await send(url, paying(unpaid.task!.id, await signQuote(seller, required)))
    expect([paid.status, paid.headers.get('x-a2a-extensions')]).toEqual([200, EXTENSION])
    expect(paid.task).toMatchObject({
      kind: 'task',
      id: unpaid.task!.id,
      contextId: 'c-7',
      status: { state: 'completed', message: { taskId: unpaid.task!.id, role: 'agent' } },
    })
    expect(paid.data).toEqual({ run: 1, said: 'HELLO' })
    expect(paid.metadata).toEqual({
      'x402.payment.status': 'payment-completed',
      'x402.payment.receipts': [
        expect.objectContaining({
          success: true,
          transaction: lastTxId(seller),
          payer: seller.sandbox.wallet.address,
        }),
      ],
    })
    expect(paid.headers.get('payment-response')).not.toBeNull()
    expect([seen.runs, received(seller)]).toEqual([1, 10_000n])
  })

  it('has the same flow in A2A 1.0, in its shapes', async () => {
    const { seller, url } = await selling()
    const say = async (message: object) => {
      const params = { message: { messageId: 'm1', role: 'ROLE_USER', ...message } }
      const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }
      const response = await post(`${url}/a2a`, body, {
        'A2A-Extensions': `https://other.example, ${EXTENSION}`,
      })
      expect([response.status, response.headers.get('a2a-extensions')]).toEqual([200, EXTENSION])
      return (
        (await response.json()) as { result: { task: NonNullable<Awaited<ReturnType<typeof send>>['task']> } }
      ).result.task
    }
    const unpaid = await say({ parts: [{ text: 'hello' }] })
    expect(unpaid.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { role: 'ROLE_AGENT', metadata: { 'x402.payment.status': 'payment-required' } },
    })
    const required = unpaid.status.message.metadata['x402.payment.required'] as never
    const paid = await say(paying(unpaid.id, await signQuote(seller, required)))
    expect(paid).toMatchObject({ id: unpaid.id, status: { state: 'TASK_STATE_COMPLETED' } })
    const declined = await say(rejecting((await say({ parts: [{ text: 'hello' }] })).id))
    expect(declined.status.state).toBe('TASK_STATE_FAILED')
    expect(received(seller)).toBe(10_000n)
  })

  it.each([
    ['of a GET', on('find', { n: 3 }), { n: 3 }, 30_000n],
    ['of bytes', on('bytes', { base64: 'AP8=' }), { got: [0, 255] }, 10_000n],
  ])('is answered for its first input: %s', async (_, message, data, price) => {
    const { seller, url } = await selling()
    const { paid } = await begun(seller, message)
    const other = on('find', { n: 1 })
    const told = await send(url, { ...paid, parts: other.parts })
    expect(told).toMatchObject({ is: 'completed', data })
    expect(received(seller)).toBe(price)
  })

  it('buys a window by a task, and uses its key without one', async () => {
    const { seller, url } = await selling()
    const { paid } = await begun(seller, on('feed', {}))
    const sold = await send(url, paid)
    const { key } = sold.metadata['svc.subscription'] as { key: string }
    const covered = await send(url, on('feed', {}), { ...ACTIVATED, 'x-svc-subscription': key })
    expect(covered).toMatchObject({ is: 'completed', data: { news: 'none' } })
    expect(received(seller)).toBe(20_000n)
  })

  it('may pay in a header, as without the extension', async () => {
    const { seller, url } = await selling()
    const payment = await signFor(seller, `${url}/shout`, { body: { text: 'hello' } })
    const told = await send(url, textOf('hello'), { ...ACTIVATED, ...payment })
    expect(told).toMatchObject({ is: 'completed', data: { said: 'HELLO' } })
    const spent = await send(url, textOf('hello'), { ...ACTIVATED, ...payment })
    expect(spent).toMatchObject({ status: 409, is: 'payment_spent' })
    const malformed = await send(url, textOf('hello'), { ...ACTIVATED, 'payment-signature': '!' })
    expect(malformed).toMatchObject({ status: 402, is: -32010 })
  })

  it('is told of a wrong input before any task, and of one that is too large for a task', async () => {
    const { url } = await selling({ advanced: { tasks: { maxInputBytes: 100 } } })
    expect(await send(url, on('shout', { text: 5 }))).toMatchObject({ status: 400, is: 'invalid_input' })
    const large = await send(url, textOf('x'.repeat(100)))
    expect(large).toMatchObject({ status: 400, error: { code: -32602, data: { code: 'body_too_large' } } })
    expect((await send(url, textOf('x'.repeat(50)))).is).toBe('input-required')
  })
})

describe('a client that does not activate it', () => {
  it('is answered 402, as the specification says', async () => {
    const { url } = await selling()
    for (const uri of ['', 'https://github.com/google-a2a/a2a-x402/v9']) {
      const told = await send(url, textOf('hello'), { 'X-A2A-Extensions': uri })
      expect(told).toMatchObject({ status: 402, error: { code: -32010 } })
      expect(told.headers.get('payment-required')).not.toBeNull()
    }
  })

  it('may still pay a task: the task says which flow it is', async () => {
    const { seller, url } = await selling()
    const { paid } = await begun(seller)
    expect((await send(url, paid, {})).is).toBe('completed')
  })
})

describe('a message on a task', () => {
  it('without a payment is quoted again, and runs nothing', async () => {
    const { seller, seen, url } = await selling()
    const { id, contextId, required } = await begin(seller, { ...textOf('hello'), contextId: 'c' })
    const again = await send(url, { taskId: id, ...textOf('other words') })
    expect(again).toMatchObject({ status: 200, is: 'input-required', task: { id, contextId } })
    expect(again.metadata['x402.payment.required']).toEqual(required)
    expect((await send(url, paying(id, await signQuote(seller, required)))).data).toMatchObject({
      said: 'HELLO',
    })
    expect(seen.runs).toBe(1)
  })

  it('without a payment is not covered by a window', async () => {
    const { seller, url } = await selling()
    const window = await begun(seller, on('feed', {}))
    const { key } = (await send(url, window.paid)).metadata['svc.subscription'] as { key: string }
    const { id } = await begin(seller, on('feed', {}))
    const told = await send(url, { taskId: id, parts: [] }, { 'x-svc-subscription': key })
    expect(told.is).toBe('input-required')
  })

  it('that declines ends the task', async () => {
    const { seller, url } = await selling()
    const { id, contextId, paid } = await begun(seller)
    const told = await send(url, rejecting(id))
    expect(told).toMatchObject({ status: 200, is: 'failed', task: { id, contextId } })
    expect(told.metadata).toEqual({ 'x402.payment.status': 'payment-rejected' })
    for (const later of [paid, rejecting(id), { taskId: id, parts: [] }]) {
      expect(await send(url, later)).toMatchObject({ status: 400, error: { code: -32001 } })
    }
    expect((await send(url, (await begun(seller)).paid)).is).toBe('completed')
    expect(received(seller)).toBe(10_000n)
  })

  it.each(['no-such-task', 'x'.repeat(300), 7, {}, true])(
    'on the task %j is -32001, and does not invite to pay again',
    async taskId => {
      const { seller, url } = await selling()
      const { payment } = await begun(seller)
      for (const message of [
        paying(taskId as never, payment),
        rejecting(taskId as never),
        { taskId, parts: [] },
      ]) {
        const told = await send(url, message)
        expect(told).toMatchObject({ status: 400, error: { code: -32001 } })
        expect(told.error!.message).toMatch(/look the payment up/)
      }
    },
  )

  it.each([
    ['a payment without a status', { 'x402.payment.payload': {} }],
    ['a status without a payment', { 'x402.payment.status': 'payment-submitted' }],
    [
      'a payment that is no object',
      { 'x402.payment.status': 'payment-submitted', 'x402.payment.payload': 'e30=' },
    ],
    ['an unknown status', { 'x402.payment.status': 'payment-completed' }],
  ])('with %s is refused, and the task goes on waiting', async (_, metadata) => {
    const { seller, url } = await selling()
    const { id, paid } = await begun(seller)
    expect(await send(url, { taskId: id, parts: [], metadata })).toMatchObject({
      status: 400,
      error: { code: -32602 },
    })
    expect((await send(url, paid)).is).toBe('completed')
  })

  it('is needed for a payment: one without a task is refused', async () => {
    const { seller, url, seen } = await selling()
    const { payment } = await begun(seller)
    const { metadata } = paying('', payment)
    expect(await send(url, { ...textOf('hello'), metadata })).toMatchObject({ error: { code: -32602 } })
    expect(seen.runs).toBe(0)
  })
})

describe('a payment that fails ends its task', () => {
  const failing = async (
    skill: string,
    change: (payment: Fields) => Fields | Promise<Fields>,
    prepare: (seller: Seller) => void = () => {},
  ) => {
    const { seller, seen, url } = await selling()
    const data = skill === 'shout' ? { text: 'hello' } : {}
    const { id, payment } = await begun(seller, on(skill, data))
    prepare(seller)
    const paid = paying(id, await change(payment as Fields))
    const told = await send(url, paid)
    expect(told).toMatchObject({ status: 200, is: 'failed', task: { id } })
    expect(told.headers.get('payment-required')).toBeNull()
    expect(told.task!.artifacts).toBeUndefined()
    expect(received(seller)).toBe(0n)
    seller.sandbox.faults.clear()
    expect(await send(url, paid)).toMatchObject({ status: 400, error: { code: -32001 } })
    expect(received(seller)).toBe(0n)
    expect((await send(url, (await begun(seller)).paid)).is).toBe('completed')
    return { metadata: told.metadata, seen, seller }
  }
  const same = (payment: Fields) => payment
  const failedWith = (error: string, code: string) => ({
    'x402.payment.status': 'payment-failed',
    'x402.payment.error': error,
    'x402.payment.receipts': [
      { success: false, transaction: '', errorReason: expect.any(String), network: expect.any(String) },
    ],
    'svc.error': { code, message: expect.any(String) },
  })

  it('where the facilitator refuses it', async () => {
    const { metadata, seen } = await failing('shout', same, ({ sandbox }) =>
      sandbox.faults.set('verify', 'refuse'),
    )
    expect(metadata).toMatchObject(failedWith('PAYMENT_REFUSED', 'payment_refused'))
    expect(seen.runs).toBe(1)
  })

  it('where it is for other terms', async () => {
    const { metadata } = await failing('shout', payment => ({
      ...payment,
      accepted: { ...(payment.accepted as Fields), amount: '1' },
    }))
    expect(metadata).toMatchObject(failedWith('PAYMENT_REFUSED', 'payment_refused'))
  })

  it.each([{}, { x402Version: 1, scheme: 'exact', network: 'base', payload: {} }])(
    'where nothing can be read in it: %j',
    async payment => {
      const { metadata } = await failing('shout', () => payment)
      expect(metadata).toMatchObject(failedWith('PAYMENT_REFUSED', 'payment_refused'))
    },
  )

  it('where it does not settle', async () => {
    const { metadata, seen } = await failing('shout', same, ({ sandbox }) =>
      sandbox.faults.set('settle', 'refuse'),
    )
    expect(metadata).toMatchObject({ 'x402.payment.status': 'payment-failed' })
    expect(seen.runs).toBe(2)
  })

  it('where its payer is short of money', async () => {
    const { seller, url } = await selling()
    const { addr, sk } = generateAccount()
    seller.sandbox.fund(String(addr), { microAlgos: 1_000_000n, usdc: 9_999n })
    const { id, required } = await begin(seller)
    const payment = await signQuote(seller, required, { mnemonic: secretKeyToMnemonic(sk) })
    const told = await send(url, paying(id, payment))
    expect(told.metadata).toMatchObject(failedWith('INSUFFICIENT_FUNDS', 'payment_refused'))
  })

  it('where it has too few rounds left', async () => {
    const { seller, url } = await selling()
    const { paid } = await begun(seller)
    seller.sandbox.advanceRounds(1_100)
    const told = await send(url, paid)
    expect(told.metadata).toMatchObject(failedWith('EXPIRED_PAYMENT', 'payment_refused'))
  })

  it('where the handler fails: that is not charged', async () => {
    const thrown = await failing('broken', same)
    expect(thrown.metadata).toMatchObject({
      'x402.payment.status': 'payment-failed',
      'x402.payment.error': 'MODEL_DOWN',
      'svc.error': { code: 'model_down', message: 'no model today' },
    })
    const answered = await failing('refusing', same)
    expect(answered.metadata['svc.error']).toMatchObject({
      code: 'handler_error',
      status: 418,
      answer: { why: 'no' },
    })
  })
})
