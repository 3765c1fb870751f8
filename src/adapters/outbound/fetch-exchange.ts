/**
 * Requests with the runtime's own `fetch`, where undici is missing (Bun replaces it by a stub, browsers have none) or where
 * connections may not outlive a request (Workers). The runtime pools the connections. `fetch` has no time limit for connecting,
 * so only that of each request bounds it.
 */
import { textOf } from '../../domain/bytes.js'
import type { Clock } from '../../ports/clock.js'
import {
  type ExchangeLimits,
  type ExchangeReply,
  type MakeExchange,
  readWebBody,
} from '../../ports/exchange.js'

/** `init` is what this runtime's requests need besides. */
export function fetchExchange(own: Pick<Clock, 'after'>, init: RequestInit = {}): MakeExchange {
  return (base, limits) => {
    const prefix = base.replace(/\/+$/, '')
    const { clock = own } = limits
    const inPlace = connectionPlaces(limits.connectionsMax)
    /** How to cut each request in flight, and when it has ended. */
    const inFlight = new Map<(why: string) => void, Promise<unknown>>()
    let closed = false

    async function close() {
      closed = true
      await Promise.all(inFlight.values())
    }

    return {
      open: async () => {},
      async send({ path, timeoutMs, method, headers, body }) {
        if (closed) return { failed: 'closed' }
        const ended = new AbortController()
        let cut: (why: string) => void = () => {}
        const failed = new Promise<ExchangeReply>(resolve => {
          cut = why => {
            resolve({ failed: why })
            ended.abort(new Error(why))
          }
        })
        const clearLimit = clock.after(timeoutMs, () => cut(`no answer within ${timeoutMs} ms`))
        const sent = inPlace(async () => {
          // It was cut while it waited for a connection: a payment must not be sent now.
          ended.signal.throwIfAborted()
          const response = await fetch(prefix + path, {
            ...init,
            method,
            // Uncompressed, so that `content-length` says how many bytes have to come.
            headers: { 'accept-encoding': 'identity', ...headers },
            body,
            signal: ended.signal,
            redirect: 'manual',
          })
          return received(response, limits)
        })
          .catch(error => ({ failed: codeOf(error) }))
          .finally(() => {
            clearLimit()
            inFlight.delete(cut)
          })
        inFlight.set(cut, sent)
        return Promise.race([failed, sent])
      },
      close,
      destroy() {
        for (const cut of inFlight.keys()) cut('closed')
        return close()
      },
    }
  }
}

async function received(
  { status, headers, body, type }: Response,
  { bytesMax, isEnough }: ExchangeLimits,
): Promise<ExchangeReply> {
  if (isEnough?.(status)) {
    // A body that never ends must not hold back what the status says already.
    body?.cancel().catch(() => {})
    return { status, text: '' }
  }
  const bytes = await readWebBody(body, bytesMax)
  if (bytes === undefined) throw new Error(`an answer of more than ${bytesMax} bytes`)
  // Not every runtime reports a body that ends early. Browsers do, and hide from other origins whether it was compressed.
  const isPlain = type !== 'cors' && !headers.has('content-encoding')
  if (isPlain && bytes.length < Number(headers.get('content-length')))
    throw new Error('the answer ended early')
  return { status, text: textOf(bytes) }
}

/** As many at once as a pool of connections would let through; the others wait in order. */
function connectionPlaces(max: number) {
  const waiting: (() => void)[] = []
  let taken = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken === max) await new Promise<void>(resolve => waiting.push(resolve))
    else taken++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else taken--
    }
  }
}

/** Node's `fetch` has the connection's error as the `cause` of its own. */
function codeOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown }
  const { code, message } = cause as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? code : String(message ?? error)
}
