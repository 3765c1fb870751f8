/** The JavaScript clients of OpenAI and Anthropic, given `client.fetch`: they buy from endpoints that speak their formats. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { ClientOptions } from '../../src/client.js'
import { defineEndpoint, type HandlerContext, SvcError } from '../../src/index.js'
import { open } from '../support/seller.js'
import { distinctPayments, marketForFile, PRICE, txIdIn } from './market.js'

const market = marketForFile()

type Asked = { readonly stream?: boolean; readonly model: string; readonly messages: { content: string }[] }

/** Server-sent events, named by their type as Anthropic names them. */
function events(items: readonly object[], end = ''): Response {
  const text = items.map(item => {
    const name = 'type' in item ? `event: ${item.type}\n` : ''
    return `${name}data: ${JSON.stringify(item)}\n\n`
  })
  const body = ReadableStream.from([...text, end]).pipeThrough(new TextEncoderStream())
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function completion({ body }: HandlerContext): unknown {
  const { stream, model, messages } = body as Asked
  const content = `You said ${messages[0]!.content}`
  if (content.includes('nothing')) throw new SvcError('Say something', 'nothing_said', 400)
  const told = { id: 'c1', created: 1, model }
  const choice = { index: 0, finish_reason: 'stop' }
  if (!stream)
    return {
      ...told,
      object: 'chat.completion',
      choices: [{ ...choice, message: { role: 'assistant', content } }],
    }
  const chunk = (delta: object, finish_reason: string | null) => ({
    ...told,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const words = content.split(/(?= )/).map(word => chunk({ content: word }, null))
  return events([...words, chunk({}, 'stop')], 'data: [DONE]\n\n')
}

function message({ body }: HandlerContext): unknown {
  const { stream, model, messages } = body as Asked
  const text = `You said ${messages[0]!.content}`
  const usage = { input_tokens: 1, output_tokens: 2 }
  const told = { id: 'm1', type: 'message', role: 'assistant', model, stop_sequence: null }
  if (!stream) return { ...told, content: [{ type: 'text', text }], stop_reason: 'end_turn', usage }
  return events([
    { type: 'message_start', message: { ...told, content: [], stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...text.split(/(?= )/).map(word => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: word },
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ])
}

const sold = { price: '$0.01', stream: true } as const
const messages = [{ role: 'user' as const, content: 'a whale' }]

async function openai(options?: ClientOptions) {
  const endpoint = defineEndpoint({ name: 'completions', ...sold, handler: completion })
  const { url } = await open([endpoint], { sandbox: market.sandbox, basePath: '/v1/chat' })
  const { client, spent } = market.payer(options)
  return { model: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', fetch: client.fetch }), client, spent }
}

describe('OpenAI’s client', () => {
  const asked = { model: 'small', messages }

  it('buys a completion', async () => {
    const { model, client, spent } = await openai()
    const { choices } = await model.chat.completions.create(asked)
    expect(choices[0]!.message.content).toBe('You said a whale')
    expect([...client.receipts]).toMatchObject([{ charged: 'yes', status: 200 }])
    expect(spent()).toBe(PRICE)
  })

  it('buys a stream', async () => {
    const { model, spent } = await openai()
    const words: string[] = []
    for await (const { choices } of await model.chat.completions.create({ ...asked, stream: true }))
      words.push(choices[0]!.delta.content ?? '')
    expect(words).toEqual(['You', ' said', ' a', ' whale', ''])
    expect(spent()).toBe(PRICE)
  })

  it('leaves a stream by its controller without an error', async () => {
    const { model, spent } = await openai()
    const words: string[] = []
    const stream = await model.chat.completions.create({ ...asked, stream: true })
    for await (const { choices } of stream) {
      words.push(choices[0]!.delta.content ?? '')
      stream.controller.abort()
    }
    expect([words[0], spent()]).toEqual(['You', PRICE])
  })

  it('shows what was paid, on its response', async () => {
    const { model } = await openai()
    const response = await model.chat.completions.create(asked).asResponse()
    expect(response).toHaveProperty('payment.txId', market.sandbox.transactions().at(-1)!.txId)
  })

  it('gets a refusal of the handler as its own error, and pays nothing', async () => {
    const { model, client, spent } = await openai()
    const refused = model.chat.completions.create({
      ...asked,
      messages: [{ role: 'user', content: 'nothing' }],
    })
    await expect(refused).rejects.toBeInstanceOf(OpenAI.BadRequestError)
    expect([...client.receipts]).toMatchObject([{ charged: 'no', status: 400 }])
    expect(spent()).toBe(0n)
  })

  it('that repeats a request whose answer was lost pays once, and gets the answer', async () => {
    let lost = 0
    const fetchImpl: typeof fetch = async (url, init) => {
      const response = await fetch(url, init)
      if (!new Headers(init?.headers).has('payment-signature') || lost++ > 0) return response
      await response.arrayBuffer()
      throw new TypeError('fetch failed')
    }
    const { model, client, spent } = await openai({ retry: false, fetchImpl })
    const { choices } = await model.chat.completions.create(asked)
    expect(choices[0]!.message.content).toBe('You said a whale')
    expect([[...client.receipts].length, spent()]).toEqual([1, PRICE])
  })

  it('that repeats a request whose answers all are lost pays once', async () => {
    const seller = await market.seller(async (seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      await shop.settle(seen.payment)
      return 'cut'
    })
    const { client, spent } = market.payer({ retry: false })
    const baseURL = new URL(seller.url).origin
    const model = new OpenAI({ baseURL, apiKey: 'none', fetch: client.fetch, maxRetries: 2 })
    await expect(model.chat.completions.create(asked)).rejects.toMatchObject({
      cause: { code: 'network_error', detail: { charged: 'yes', txId: expect.any(String) } },
    })
    expect(txIdIn(seller.paid()[0]!.payment!)).toBe([...client.receipts][0]!.txId)
    expect([seller.paid().length, distinctPayments(seller).size, spent()]).toEqual([3, 1, PRICE])
  })
})

describe('Anthropic’s client', () => {
  const asked = { model: 'small', max_tokens: 100, messages }

  async function anthropic() {
    const endpoint = defineEndpoint({ name: 'messages', ...sold, handler: message })
    const { url } = await open([endpoint], { sandbox: market.sandbox, basePath: '/v1' })
    const { client, spent } = market.payer()
    return { model: new Anthropic({ baseURL: url, apiKey: 'none', fetch: client.fetch }), spent }
  }

  it('knows that it left a stream itself', async () => {
    const { model, spent } = await anthropic()
    const stream = model.messages.stream(asked).on('text', () => stream.abort())
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError)
    expect(spent()).toBe(PRICE)
  })

  it('buys a message', async () => {
    const { model, spent } = await anthropic()
    const { content } = await model.messages.create(asked)
    expect(content).toMatchObject([{ type: 'text', text: 'You said a whale' }])
    expect(spent()).toBe(PRICE)
  })

  it('buys a stream', async () => {
    const { model, spent } = await anthropic()
    const words: string[] = []
    const stream = model.messages.stream(asked).on('text', word => void words.push(word))
    const { content } = await stream.finalMessage()
    expect(words).toEqual(['You', ' said', ' a', ' whale'])
    expect(content).toMatchObject([{ type: 'text', text: 'You said a whale' }])
    expect(spent()).toBe(PRICE)
  })
})
