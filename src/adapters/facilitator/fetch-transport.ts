/**
 * The transport of `json-transport.ts` over the runtime's own `fetch`, for runtimes where undici is missing (Bun replaces
 * it by a stub) or where connections may not outlive a request (Workers). Promises the same: one test holds both.
 *
 * `fetch` has no time limit for connecting, so only the deadline of the exchange bounds it.
 */
import { systemClock } from '../../ports/clock.js'
import { readWebBody } from '../../ports/read-web-body.js'
import { ANSWER_BYTES_MAX, type Answer, answerOf, outageOf } from './facilitator-response.js'
import type { JsonTransport } from './json-transport.js'

export function fetchTransport(base: URL, connectionsMax: number): JsonTransport {
  const prefix = base.origin + base.pathname.replace(/\/+$/, '')
  // Uncompressed, so that `content-length` says how many bytes have to come.
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' }
  const postHeaders = { ...headers, 'content-type': 'application/json' }
  const places = connectionPlaces(connectionsMax)
  const reads = new Set<(cause: string) => void>()
  const writes = new Set<Promise<unknown>>()
  let closed = false

  function ask(path: string, request: RequestInit, timeoutMs: number) {
    const ended = new AbortController()
    let cut: (cause: string) => void = () => {}
    const answered = new Promise<Answer>(resolve => {
      cut = cause => {
        resolve({ outage: cause, spoke: false })
        ended.abort(new Error(cause))
      }
    })
    const clear = systemClock.after(timeoutMs, () => cut(`no answer within ${timeoutMs} ms`))
    // Payments that take every place must not make our own question fail, too.
    const placed = request.method === 'POST' ? places.inOne : <T>(work: () => Promise<T>) => work()
    const sent = placed(async () => {
      // The deadline passed while the request waited for a connection: a payment must not be sent now.
      if (ended.signal.aborted) throw ended.signal.reason
      return exchange(prefix + path, { ...request, signal: ended.signal, redirect: 'manual' })
    })
      .catch((error): Answer => ({ outage: causeOf(error), spoke: false }))
      .finally(clear)
    return { answer: Promise.race([answered, sent]), sent, cut }
  }

  return {
    async get(path, timeoutMs) {
      if (closed) return CLOSED
      const { answer, cut } = ask(path, { headers }, timeoutMs)
      reads.add(cut)
      return answer.finally(() => reads.delete(cut))
    },
    async post(path, body, timeoutMs, more) {
      if (closed) return CLOSED
      const request = { method: 'POST', headers: { ...postHeaders, ...more }, body }
      const { answer, sent } = ask(path, request, timeoutMs)
      writes.add(sent)
      sent.then(() => writes.delete(sent))
      return answer
    },
    async close() {
      closed = true
      for (const cut of reads) cut('closed')
      await Promise.all(writes)
    },
  }
}

/** Keeps a byte order mark, as the transport over undici does. */
const TEXT = new TextDecoder('utf-8', { ignoreBOM: true })

const CLOSED: Answer = { outage: 'closed', spoke: false }

async function exchange(url: string, request: RequestInit): Promise<Answer> {
  const { status, headers, body } = await fetch(url, request)
  const outage = outageOf(status)
  if (outage) {
    // A body that never ends must not hold back what the status says already.
    body?.cancel().catch(() => {})
    return outage
  }
  const bytes = await readWebBody(body, ANSWER_BYTES_MAX)
  if (bytes === undefined) throw new Error(`an answer of more than ${ANSWER_BYTES_MAX} bytes`)
  // Not every runtime reports a body that ends early.
  if (!headers.has('content-encoding') && bytes.length < Number(headers.get('content-length'))) {
    throw new Error('the answer ended early')
  }
  return answerOf(status, TEXT.decode(bytes))
}

/** As many at once as a pool of connections would let through; the others wait in order. */
function connectionPlaces(max: number) {
  const waiting: (() => void)[] = []
  let taken = 0
  return {
    async inOne<T>(work: () => Promise<T>): Promise<T> {
      if (taken === max) await new Promise<void>(resolve => waiting.push(resolve))
      else taken++
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else taken--
      }
    },
  }
}

/** Node's `fetch` has the connection's error as the `cause` of its own. */
function causeOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown }
  const { code, message } = cause as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? code : String(message ?? error)
}
