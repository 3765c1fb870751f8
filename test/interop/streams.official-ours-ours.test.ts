/** Readers that know nothing of us read our streams: the official client, and a plain reader of server-sent events. */
import { EventSource } from 'eventsource'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { gate } from '../support/gate.js'
import { officialClient, onePayment, receiptIn, statusIn, watchLedger } from '../support/official.js'
import { openSeller, type Seller } from '../support/seller.js'

const held = gate()

async function* words() {
  yield 'one'
  yield 'two\nlines'
  yield { three: 3 }
}

const endpoints = [
  defineEndpoint({ name: 'words', price: '$0.01', stream: true, handler: words }),
  defineEndpoint({
    name: 'held',
    price: '$0.01',
    stream: true,
    async *handler() {
      yield 'first'
      await held.opened
      yield 'second'
    },
  }),
  defineEndpoint({
    name: 'breaks',
    price: '$0.01',
    stream: true,
    async *handler() {
      yield 'first'
      throw new Error('as planned')
    },
  }),
  defineEndpoint({
    name: 'feed',
    method: 'GET',
    subscription: { price: '$0.50', period: '1h' },
    stream: true,
    handler: words,
  }),
]

let sandbox: Sandbox
let seller: Seller
beforeAll(async () => {
  sandbox = await startSandbox()
  seller = await openSeller(endpoints, { sandbox })
})
afterAll(async () => {
  await seller.close()
  await sandbox.close()
})

function payer(name: string) {
  const client = officialClient(sandbox, sandbox.accounts(name))
  return { ...client, moved: watchLedger(sandbox, client.address) }
}

describe('the official client', () => {
  it('pays once, and reads the stream with its receipt in front', async () => {
    const { pay, moved } = payer('reader')
    const answer = await pay(`${seller.url}/words`, { method: 'POST' })
    expect([answer.status, await statusIn(answer.clone())]).toEqual([200, 'settled'])
    expect(moved()).toEqual(onePayment(10_000n, receiptIn(answer).transaction))
    expect(await answer.text()).toBe('data: one\n\ndata: two\ndata: lines\n\ndata: {"three":3}\n\n')
  })

  it('reads an event before the next one is made', async () => {
    const { pay, moved } = payer('early reader')
    const answer = await pay(`${seller.url}/held`, { method: 'POST' })
    const text = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect(await text.read()).toEqual({ done: false, value: 'data: first\n\n' })
    expect(moved()).toEqual(onePayment(10_000n, receiptIn(answer).transaction))
    held.open()
    expect(await text.read()).toEqual({ done: false, value: 'data: second\n\n' })
    expect(await text.read()).toMatchObject({ done: true })
  })

  it('does not take a broken stream for whole, and pays no second time', async () => {
    const { pay, moved, sent } = payer('unlucky reader')
    const answer = await pay(`${seller.url}/breaks`, { method: 'POST' })
    await expect(answer.text()).rejects.toThrow()
    expect(moved()).toEqual(onePayment(10_000n, receiptIn(answer).transaction))
    expect(sent).toHaveLength(2)
  })
})

describe('a plain reader of server-sent events', () => {
  it('reads the stream of a window, whose key it sends in a header', async () => {
    const { pay, moved } = payer('subscriber')
    const bought = await pay(`${seller.url}/feed`)
    await bought.text()
    const key = bought.headers.get('x-svc-subscription')!
    const source = new EventSource(`${seller.url}/feed`, {
      fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, 'x-svc-subscription': key } }),
    })
    const found: string[] = []
    await new Promise<void>((resolve, reject) => {
      source.onmessage = ({ data }) => {
        found.push(data)
        if (found.length === 3) resolve()
      }
      source.onerror = ({ message }) => reject(new Error(message))
    }).finally(() => source.close())
    expect(found).toEqual(['one', 'two\nlines', '{"three":3}'])
    expect(moved()).toEqual(onePayment(500_000n, receiptIn(bought).transaction))
  })
})
