/**
 * JSON over kept-alive connections to one origin. Every request ends within its deadline, connecting included: in a JSON
 * object from the facilitator itself, or in an outage. Redirects, 5xx and throttling are outages, whatever their body is.
 */
import { setImmediate } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { systemClock } from '../../ports/clock.js'
import { DispatchedExchange, type ExchangeRules } from '../../ports/dispatched-exchange.js'
import { whenUsed } from '../../ports/when-used.js'
import { ANSWER_BYTES_MAX, type Answer, answerOf, outageOf } from './facilitator-response.js'

export interface JsonTransport {
  /** Loads what requests need, where that takes time. The first request does it otherwise. Never rejects. */
  open?(): Promise<unknown>
  get(path: string, timeoutMs: number): Promise<Answer>
  /** `headers` are sent besides its own. */
  post(
    path: string,
    body: Buffer,
    timeoutMs: number,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
  /** Cuts GET requests. POST requests go on until they end, at their deadline at the latest. */
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 5_000

const READING: ExchangeRules<Answer> = {
  early: outageOf,
  whole: answerOf,
  failed: cause => ({ outage: causeOf(cause), spoke: false }),
}

export function jsonTransport(base: URL, connectionsMax: number): JsonTransport {
  const prefix = base.pathname.replace(/\/+$/, '')
  // Loading undici takes 0.1 s of CPU: not for a server whose facilitator is in its process.
  const pools = whenUsed(async () => {
    const { Pool } = await import('undici')
    const poolOf = (connections: number) =>
      new Pool(base.origin, {
        connections,
        pipelining: 1,
        connect: { timeout: CONNECT_TIMEOUT_MS },
        maxResponseSize: ANSWER_BYTES_MAX,
        // The deadline of each exchange covers both, to the millisecond.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
    // Payments that hold every connection must not make our own question fail, too.
    return { GET: poolOf(1), POST: poolOf(connectionsMax) }
  })
  const headers = { accept: 'application/json' }
  const postHeaders = { ...headers, 'content-type': 'application/json' }
  const reads = new Set<DispatchedExchange<Answer>>()
  let closing: Promise<void> | undefined

  async function ask(
    exchange: DispatchedExchange<Answer>,
    options: Omit<Dispatcher.DispatchOptions, 'method'> & { readonly method: 'GET' | 'POST' },
  ): Promise<Answer> {
    try {
      if (closing) throw new Error('closed')
      ;(await pools())[options.method].dispatch(options, exchange)
    } catch (error) {
      exchange.fail(error as Error)
    }
    const answer = await exchange.answered
    // undici frees a connection one turn after its response. An earlier request would open another connection.
    await setImmediate()
    return answer
  }

  return {
    open: () => pools().catch(() => {}),
    async get(path, timeoutMs) {
      const read = within(timeoutMs)
      reads.add(read)
      const answer = await ask(read, { method: 'GET', path: prefix + path, headers })
      reads.delete(read)
      return answer
    },
    post: (path, body, timeoutMs, more) =>
      ask(within(timeoutMs), {
        method: 'POST',
        path: prefix + path,
        headers: more ? { ...postHeaders, ...more } : postHeaders,
        body,
      }),
    close() {
      for (const read of reads) read.cut('closed')
      closing ??= Promise.resolve(pools.used).then(async opened => {
        if (opened) await Promise.all([opened.GET.close(), opened.POST.close()])
      })
      return closing
    },
  }
}

const within = (timeoutMs: number) => new DispatchedExchange(systemClock, timeoutMs, READING)

function causeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
