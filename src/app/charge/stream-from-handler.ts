/**
 * Renders the streams that a handler may return. A stream is opened here, before anything is charged: what cannot be opened, or
 * was read before, is no answer.
 */
import { Readable } from 'node:stream'
import type { Answer, StreamSource } from '../../domain/handler.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { headersOfResponse, NoAnswer } from './render-answer.js'
import { jsonMistakeIn } from './what-json-drops.js'

export interface StreamEnd {
  /** `undefined` where its source ended by itself, and the caller got all of it. */
  readonly brokenBy: EndedCall['brokenBy']
  /** All of it, where its source ended by itself, and it was to be kept and is small enough. */
  readonly bytes: Uint8Array | undefined
}

export interface RenderedStream {
  /** Status and headers; the body is empty. */
  readonly answer: Answer
  readonly source: StreamSource
}

/** Proxies that buffer an answer before they forward it would hold its events back. */
const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
const BYTES = { 'content-type': 'application/octet-stream' }

/**
 * The opened stream; `undefined` for what is no stream, or no success: that is rendered whole.
 *
 * @throws NoAnswer for a stream that was opened before or cannot be, and Error for a Response that HTTP cannot carry.
 */
export function renderStream(returned: unknown): RenderedStream | undefined {
  if (typeof returned !== 'object' || returned === null) return undefined
  switch (Object.prototype.toString.call(returned)) {
    case '[object Response]':
      return streamedResponse(returned as Response)
    case '[object ReadableStream]':
      return rendered(BYTES, webSource(returned as ReadableStream))
  }
  if (!(Symbol.asyncIterator in returned)) return undefined
  // A stream of Node is an async iterable of its chunks, which are no events.
  if (isNodeStream(returned)) return rendered(BYTES, nodeSource(returned))
  return rendered(EVENTS, eventSource(returned as AsyncIterable<unknown>))
}

function rendered(headers: Answer['headers'], source: StreamSource): RenderedStream {
  return { answer: { status: 200, headers, body: '' }, source }
}

function streamedResponse(response: Response): RenderedStream | undefined {
  if (response.body === null || response.status >= 400) return undefined
  const head = headersOfResponse(response)
  return { answer: { status: response.status, ...head, body: '' }, source: webSource(response.body) }
}

function webSource(stream: ReadableStream): StreamSource {
  if (stream.locked || Readable.isDisturbed(stream as never)) throw new NoAnswer(READ_BEFORE)
  const reader = stream.getReader()
  return {
    async next() {
      const { done, value } = await reader.read()
      return done ? { done } : { done, bytes: chunkBytes(value) }
    },
    end: () => quietly(() => reader.cancel()),
  }
}

/** Compare what it can do: libraries bring streams of their own class, such as the package readable-stream's. */
function isNodeStream(returned: object): returned is Readable {
  const { pipe, on, destroy } = returned as Partial<Readable>
  return [pipe, on, destroy].every(method => typeof method === 'function')
}

function nodeSource(stream: Readable): StreamSource {
  // It may fail while the payment settles, when nothing reads it yet: without a listener its error ends the process.
  stream.on('error', () => {})
  if (stream.destroyed || stream.readableEnded || Readable.isDisturbed(stream))
    throw new NoAnswer(READ_BEFORE)
  sellOnce(stream)
  return { next: nextOf(opening(stream), chunkBytes, stream), end: () => void stream.destroy() }
}

const sold = new WeakSet<object>()

const READ_BEFORE = 'a stream that was returned or read before'

/** A generator that is returned twice is one generator: its second buyer would get what the first has left. */
function sellOnce(source: object): void {
  if (sold.has(source)) throw new NoAnswer(READ_BEFORE)
  sold.add(source)
}

function eventSource(items: AsyncIterable<unknown>): StreamSource {
  const iterator = opening(items)
  sellOnce(iterator)
  let isEnded = false
  return {
    next: nextOf(iterator, eventBytes),
    end() {
      if (!isEnded) quietly(() => iterator.return?.())
      isEnded = true
    },
  }
}

function nextOf(
  iterator: AsyncIterator<unknown>,
  bytesOf: (item: unknown) => Uint8Array,
  stream?: Readable,
): StreamSource['next'] {
  return async () => {
    const { done, value } = await iterator.next()
    // Koa destroys its body where the caller hangs up, and Node takes the end of a destroyed web stream for its own.
    if (done && stream?.readableAborted) throw new Error('the stream was destroyed before its end')
    return done ? { done: true } : { done: false, bytes: bytesOf(value) }
  }
}

function opening(items: AsyncIterable<unknown>): AsyncIterator<unknown> {
  try {
    return items[Symbol.asyncIterator]()
  } catch (cause) {
    throw new NoAnswer(`a stream that cannot be opened (${String(cause)})`)
  }
}

/** Nothing reads the source any more, so nothing needs its error. */
function quietly(end: () => unknown): void {
  Promise.resolve()
    .then(end)
    .catch(() => {})
}

function chunkBytes(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return Buffer.from(chunk)
  if (chunk instanceof Uint8Array) return chunk
  throw new NoAnswer('a chunk that is neither bytes nor text')
}

/** One item as a server-sent event. @see HTML, section 9.2 */
function eventBytes(item: unknown): Uint8Array {
  const text = typeof item === 'string' ? item : jsonOf(item)
  const lines = text.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
  return Buffer.from(`${lines.join('')}\n`)
}

function jsonOf(item: unknown): string {
  const mistake = jsonMistakeIn(item)
  if (mistake !== undefined) throw new NoAnswer(mistake.what, mistake.at)
  return JSON.stringify(item)
}

/** For a transport that needs the whole answer, and holds it in memory. */
export const COLLECTED_BYTES_MAX = 16_777_216

/**
 * Reads a stream to its end, where it cannot be sent as it comes.
 *
 * @throws what the source throws, the signal's reason, and NoAnswer for too much.
 */
export async function collected(
  { answer, source }: RenderedStream,
  signal: AbortSignal,
  bytesMax: number,
): Promise<Answer> {
  const kept = new BoundedBuffer(bytesMax)
  const read = async () => {
    for (;;) {
      const { done, bytes } = await source.next()
      signal.throwIfAborted()
      if (done) return { ...answer, body: kept.bytes! }
      if (!kept.add(bytes!)) throw new NoAnswer(`a stream of more than ${bytesMax} bytes`)
    }
  }
  try {
    signal.throwIfAborted()
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    return await Promise.race([read(), aborted])
  } catch (cause) {
    source.end()
    throw cause
  }
}

const FIRST_BYTES = 4_096

/**
 * Collects chunks in one buffer that doubles, up to a bound. With an array for each chunk, a stream of a million single bytes
 * took 616 MB; it takes 9.
 */
export class BoundedBuffer {
  #buffer = new Uint8Array()
  #length = 0

  constructor(private readonly bytesMax: number) {}

  /** Copies the chunk. `false` above the bound: nothing is kept any more. */
  add(chunk: Uint8Array): boolean {
    const at = this.#length
    this.#length += chunk.length
    if (this.#length > this.bytesMax) {
      this.#buffer = new Uint8Array()
      return false
    }
    if (this.#length > this.#buffer.length) this.#grow(at)
    this.#buffer.set(chunk, at)
    return true
  }

  /** All bytes; `undefined` where they are more than the bound. */
  get bytes(): Uint8Array | undefined {
    return this.#length <= this.bytesMax ? Buffer.from(this.#buffer.subarray(0, this.#length)) : undefined
  }

  #grow(used: number): void {
    const bytes = Math.max(2 * this.#buffer.length, this.#length, FIRST_BYTES)
    const larger = new Uint8Array(Math.min(bytes, this.bytesMax))
    larger.set(this.#buffer.subarray(0, used))
    this.#buffer = larger
  }
}
