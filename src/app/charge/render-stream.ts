/** Renders the streams that a handler may return: what is charged for is a stream, and its bytes come later. */
import type { Answer } from '../../domain/handler-answer.js'
import { jsonMistakeIn } from './json-mistakes.js'
import { headersOfResponse, NoAnswer } from './render-answer.js'

/** Proxies that buffer an answer before they forward it would hold its events back. */
const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
const BYTES = { 'content-type': 'application/octet-stream' }

type StreamedAnswer = Answer & Required<Pick<Answer, 'stream'>>

/**
 * The streamed answer; `undefined` for what is no stream, or no success: that is rendered whole.
 *
 * @throws NoAnswer for a stream that was read already, and for a Response that HTTP cannot carry.
 */
export function renderStream(returned: unknown): StreamedAnswer | undefined {
  if (typeof returned !== 'object' || returned === null) return undefined
  switch (Object.prototype.toString.call(returned)) {
    case '[object Response]':
      return streamedResponse(returned as Response)
    case '[object ReadableStream]':
      if ((returned as ReadableStream).locked) throw new NoAnswer('a stream that is read already')
      return { status: 200, headers: BYTES, body: '', stream: bytesOf(returned as ReadableStream) }
  }
  if (!isAsyncIterable(returned)) return undefined
  // A stream of Node is an async iterable of its chunks, which are no events.
  if ('pipe' in returned) return { status: 200, headers: BYTES, body: '', stream: bytesOf(returned) }
  return { status: 200, headers: EVENTS, body: '', stream: eventsOf(returned) }
}

function streamedResponse(response: Response): StreamedAnswer | undefined {
  if (response.body === null || response.status >= 400) return undefined
  const head = headersOfResponse(response)
  return { status: response.status, ...head, body: '', stream: bytesOf(response.body) }
}

/** Collects a stream whole, for a transport that cannot send it as it comes. */
export async function collected({ stream, ...answer }: StreamedAnswer): Promise<Answer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return { ...answer, body: Buffer.concat(chunks) }
}

function isAsyncIterable(value: object): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value
}

function bytesOf(chunks: AsyncIterable<unknown>): AsyncIterable<Uint8Array> {
  return mapped(chunks, chunk => {
    if (typeof chunk === 'string') return Buffer.from(chunk)
    if (chunk instanceof Uint8Array) return chunk
    throw new NoAnswer('a chunk that is neither bytes nor text')
  })
}

/**
 * Server-sent events, one an item.
 *
 * @see HTML, section 9.2
 */
function eventsOf(items: AsyncIterable<unknown>): AsyncIterable<Uint8Array> {
  return mapped(items, item => Buffer.from(eventOf(item)))
}

/** A generator would not hand `return` to its source before it has started. */
function mapped(
  items: AsyncIterable<unknown>,
  bytes: (item: unknown) => Uint8Array,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const source = items[Symbol.asyncIterator]()
      return {
        async next() {
          const { done, value } = await source.next()
          return done ? { done, value: undefined } : { done: false, value: bytes(value) }
        },
        async return() {
          await source.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

function eventOf(item: unknown): string {
  const text = typeof item === 'string' ? item : jsonOf(item)
  const lines = text.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
  return `${lines.join('')}\n`
}

function jsonOf(item: unknown): string {
  const mistake = jsonMistakeIn(item)
  if (mistake !== undefined) throw new NoAnswer(mistake.what, mistake.at)
  return JSON.stringify(item)
}
