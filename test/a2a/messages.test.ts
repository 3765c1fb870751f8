/** How a message becomes a skill's input, and an answer a task. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { completedTask, type TaskContext, task03, task10 } from '../../src/adapters/a2a/render-task.js'
import { contentOf } from '../../src/domain/handler.js'
import { defineEndpoint } from '../../src/index.js'
import type { ChargeOutcome } from '../../src/ports/charge.js'
import { systemClock } from '../../src/ports/clock.js'
import { systemRandom } from '../../src/ports/random.js'
import { messageIn, messageOf, post, rpc } from '../support/doors.js'
import { openSeller, type Seller, signFor } from '../support/seller.js'

const text = { type: 'string' } as const
const echoes = (name: string, input?: object) =>
  defineEndpoint({ name, price: '$0.01', input, handler: ({ body }: { body: unknown }) => ({ got: body }) })

let seller: Seller
beforeAll(async () => {
  seller = await openSeller(
    [
      defineEndpoint({ name: 'hidden', price: '$0.01', listed: false, handler: () => ({ hidden: true }) }),
      echoes('one', { type: 'object', required: ['text'], properties: { text, max: { type: 'number' } } }),
      echoes('two', { type: 'object', required: ['from', 'to'], properties: { from: text, to: text } }),
      echoes('none', { type: 'object', properties: { text } }),
      echoes('open'),
    ],
    { advanced: { extBase: 'https://ext.example' } },
  )
})
afterAll(() => seller.close())

/** Pays whatever the skill is; what the handler got, or the error's code. */
async function got(skillId: string | undefined, parts: readonly unknown[]): Promise<unknown> {
  const paid = { name: skillId ?? 'one', body: { text: 'x', from: 'a', to: 'b' } }
  const headers = await signFor(seller, `${seller.url}/${paid.name}`, { body: paid.body })
  const response = await post(`${seller.url}/a2a`, rpc('message/send', messageOf(skillId, parts)), headers)
  const { result, error } = await messageIn(response)
  if (error) return error.code
  const data = result!.artifacts[0]!.parts.find(part => part.kind === 'data')?.data as { got?: unknown }
  return data.got ?? data
}

describe('a message', () => {
  const say = (words: string) => ({ kind: 'text', text: words })
  const give = (data: object) => ({ kind: 'data', data })

  it('without a skill is for the first one listed', async () => {
    expect(await got(undefined, [say('hi')])).toEqual({ text: 'hi' })
  })
  it('may name one that is not listed', async () => {
    expect(await got('hidden', [give({})])).toEqual({ hidden: true })
  })
  it('fills the one required string with its text, a line a part, and lays data over it', async () => {
    expect(await got('one', [say('a'), say('b')])).toEqual({ text: 'a\nb' })
    expect(await got('one', [say('a'), give({ max: 5 })])).toEqual({ text: 'a', max: 5 })
    expect(await got('one', [say('a'), give({ text: 'b' }), give({ text: 'c' })])).toEqual({ text: 'c' })
  })
  it('of text alone says too little where no string is required, or several are', async () => {
    expect(await got('two', [say('hi')])).toBe(-32602)
    expect(await got('none', [say('hi')])).toBe(-32602)
  })
  it('of text and data is the data, where text has no place of its own', async () => {
    expect(await got('two', [say('please'), give({ from: 'a', to: 'b' })])).toEqual({ from: 'a', to: 'b' })
  })
  it('for a skill without a schema is its text, or its data', async () => {
    expect(await got('open', [say('hi')])).toEqual({ text: 'hi' })
    expect(await got('open', [give({ a: [1] })])).toEqual({ a: [1] })
  })
})

describe('the door', () => {
  it('describes itself', async () => {
    const response = await fetch(`${seller.url}/a2a`)
    expect(await response.json()).toMatchObject({
      protocol: 'a2a',
      transport: 'JSONRPC',
      url: `${seller.url}/a2a`,
      methods: ['message/send', 'SendMessage'],
      card: `${seller.url}/.well-known/agent.json`,
      skills: [{ skill: 'one', amount: '10000', price: '$0.01' }, {}, {}, {}],
    })
  })

  it('tells which of its extensions took effect, under the name that the client knows', async () => {
    const ours = 'https://ext.example/a2a/ext/x402/v1'
    const hi = rpc('message/send', messageOf('one', [{ text: 'hi' }]))
    for (const name of ['a2a-extensions', 'x-a2a-extensions']) {
      const response = await post(`${seller.url}/a2a`, hi, { [name]: `https://other.example, ${ours}` })
      expect(response.headers.get(name)).toBe(ours)
    }
    expect((await post(`${seller.url}/a2a`, hi)).headers.has('a2a-extensions')).toBe(false)
  })

  it('writes URLs for the host that a caller reaches, and no cache keeps them', async () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agent.example' }
    const response = await fetch(`${seller.url}/.well-known/agent-card.json`, { headers })
    expect(await response.json()).toMatchObject({ url: 'https://agent.example/a2a' })
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('keeps the context that a message names', async () => {
    const headers = await signFor(seller, `${seller.url}/open`, { body: {} })
    const { message } = messageOf('open', [{ text: 'x' }])
    const sent = rpc(
      'SendMessage',
      { message: { ...message, role: 'ROLE_USER', contextId: 'c-1', taskId: '' } },
      'id-1',
    )
    const { id, result } = await messageIn(await post(`${seller.url}/a2a`, sent, headers))
    expect(id).toBe('id-1')
    expect(result?.task).toMatchObject({ contextId: 'c-1', status: { state: 'TASK_STATE_COMPLETED' } })
  })
})

describe('an answer', () => {
  const outcome = (body: string | Uint8Array, type?: string) =>
    ({
      final: 'served',
      answer: { status: 200, headers: type ? { 'content-type': type } : {}, body: Buffer.from(body) },
    }) as unknown as ChargeOutcome
  const context: TaskContext = { skill: 'x', contextId: undefined, clock: systemClock, random: systemRandom }
  const parts03 = (...args: Parameters<typeof outcome>) =>
    task03(completedTask(outcome(...args)), context).artifacts![0]!.parts
  const parts10 = (...args: Parameters<typeof outcome>) =>
    task10(completedTask(outcome(...args)), context).task.artifacts![0]!.parts
  const JSON_TYPE = 'application/json; charset=utf-8'

  it('of JSON is text and data; of a scalar, text', () => {
    expect(parts03('{"a":1}', JSON_TYPE)).toEqual([
      { kind: 'text', text: '{"a":1}' },
      { kind: 'data', data: { a: 1 } },
    ])
    expect(parts10('[1]', JSON_TYPE)).toEqual([{ text: '[1]' }, { data: [1], mediaType: 'application/json' }])
    expect(parts03('"hi"', JSON_TYPE)).toEqual([{ kind: 'text', text: 'hi' }])
    expect(parts10('null', JSON_TYPE)).toEqual([{ text: 'null' }])
  })

  it('of anything else is its text, or its bytes as a file', () => {
    expect(parts03('hi', 'text/plain')).toEqual([{ kind: 'text', text: 'hi' }])
    expect(parts03('', undefined)).toEqual([{ kind: 'text', text: '' }])
    const bytes = new Uint8Array([0, 255])
    expect(parts03(bytes, 'image/png')).toEqual([
      { kind: 'file', file: { bytes: 'AP8=', mimeType: 'image/png' } },
    ])
    expect(parts10(bytes)).toEqual([{ raw: 'AP8=', mediaType: 'application/octet-stream' }])
  })

  it('is text of its own charset; what is no text of it stays bytes, as it was sold', () => {
    const latin = Uint8Array.of(0x63, 0x61, 0x66, 0xe9)
    const text = { kind: 'text', text: 'café' }
    const of = (bytes: Uint8Array, type: string) => contentOf(outcome(bytes, type).answer!)
    for (const charset of ['iso-8859-1', '"Windows-1252"'])
      expect(of(latin, `text/csv; header=present; charset=${charset}`)).toEqual(text)
    expect(of(new TextEncoder().encode('café'), 'text/csv')).toEqual(text)
    expect(of(Buffer.from('"caf\xe9"', 'latin1'), 'application/json; charset=latin1')).toMatchObject({
      kind: 'json',
      value: 'café',
    })
    for (const [type, mediaType] of [
      ['text/csv', 'text/csv'],
      ['text/csv; charset=utf-8', 'text/csv'],
      ['Text/CSV; charset=of-mine', 'text/csv'],
      ['application/json', 'application/json'],
    ] as const)
      expect(of(latin, type)).toEqual({ kind: 'bytes', base64: 'Y2Fm6Q==', mediaType })
  })

  it('that calls itself JSON and is none, or could not be written again, is its text', () => {
    const read = (body: string) => contentOf(outcome(body, 'application/problem+json').answer!).kind
    expect(read('{"a":1}')).toBe('json')
    expect(read('{"a":')).toBe('text')
    expect(read(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toBe('text')
  })
})
