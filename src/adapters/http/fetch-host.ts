import type { Clock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import { type ClientAddress, type FetchCaller, FetchRequest } from './fetch-request.js'
import { isBodiless, isStream, type Reply, replyToError } from './reply.js'
import type { Route } from './route.js'
import { pathOf, type RouteTable, replyOf } from './route-table.js'
import { pairsIn } from './write-node-response.js'

interface FetchHostOptions {
  readonly clientAddress: ClientAddress | undefined
  readonly logger: Logger
  readonly clock: Pick<Clock, 'after'>
  /** By it the answers of one turn leave together. */
  readonly turnEnd?: () => Promise<void> | undefined
}

/** HTTP in runtimes with `fetch`. */
export function fetchHost(table: RouteTable, { clientAddress, logger, clock, turnEnd }: FetchHostOptions) {
  /** Answers by a route whatever the path is. */
  async function answer(route: Route, request: FetchRequest): Promise<Response> {
    const reply = await replyOf(route, request, logger)
    const end = turnEnd?.()
    if (end !== undefined) await end
    try {
      return responseOf(reply, request, clock)
    } catch (cause) {
      request.undelivered()
      if (isStream(reply.body)) reply.body.unsent?.(cause)
      const refusal = replyToError(cause, logger)
      return responseOf(reply.instead?.() ?? refusal, request, clock)
    }
  }
  const handle = (incoming: Request) => {
    const request = new FetchRequest(incoming, clientAddress)
    return answer(table.findAlone(request.method, pathOf(request.target)), request)
  }
  return { answer, handle }
}

function responseOf(
  { status, headers, body = '' }: Reply,
  { method, caller }: FetchRequest,
  clock: FetchHostOptions['clock'],
): Response {
  const init = { status, headers: headersOf(headers) }
  if (isStream(body)) {
    const chunks = body.chunks[Symbol.asyncIterator]()
    return new Response(watched(chunks, caller, { cut: body.cut }), init)
  }
  const hasBody = method !== 'HEAD' && body.length > 0 && !isBodiless(status)
  if (hasBody && caller.isAwaited) {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    const sized = { status, headers: headersOf([...headers, 'content-length', String(bytes.length)]) }
    return new Response(watched(pieces(bytes), caller, { idle: { clock, ms: IDLE_MAX_MS } }), sized)
  }
  const response = new Response(hasBody ? (body as ConstructorParameters<typeof Response>[0]) : null, init)
  // Asked only where a call waits for it: a host on Node makes a request's signal when it is first read.
  caller.end(!(caller.isAwaited && caller.gone()))
  return response
}

/** A record, which Hono's server on Node writes without making a `Headers` of it; pairs where a name comes twice. */
function headersOf(headers: Reply['headers']): Record<string, string> | [name: string, value: string][] {
  const record: Record<string, string> = {}
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!.toLowerCase()
    if (name in record) return pairsIn(headers) as [string, string][]
    record[name] = headers[at + 1]!
  }
  return record
}

/** How long a host may take nothing of an answer. A host that dropped the response does not say so. */
const IDLE_MAX_MS = 60_000

const PIECE_BYTES = 64 * 1024

/** Deno and workerd ask for the next chunk while they still hold one: 30 MB in one chunk counted as arrived, and were cut off. */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

type Chunks = Iterator<string | Uint8Array> | AsyncIterator<string | Uint8Array>

interface WatchOptions {
  /** Aborts where the stream must end now. */
  readonly cut?: AbortSignal
  /** The longest time between two reads. */
  readonly idle?: { readonly clock: FetchHostOptions['clock']; readonly ms: number }
}

/**
 * A stream that reports whether its reader took all of it. Nothing is read ahead, so the next read means that the last chunk left.
 * If the server counts the answer as lost, the reader gets an error. So nobody gets a whole answer that counts as lost.
 */
function watched(chunks: Chunks, caller: FetchCaller, { cut, idle }: WatchOptions) {
  const encoder = new TextEncoder()
  let lose: (cause: unknown) => void = () => {}
  let stopWaiting = () => {}
  const wait = () => {
    stopWaiting()
    if (idle === undefined) return
    stopWaiting = idle.clock.after(idle.ms, () => lose(new Error(`nothing was read for ${idle.ms} ms`)))
  }
  const end = (arrived: boolean) => {
    stopWaiting()
    caller.end(arrived)
  }
  wait()
  caller.onGone(() => end(false))
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        lose = cause => {
          end(false)
          controller.error(cause)
        }
        if (cut?.aborted) lose(cut.reason)
        cut?.addEventListener('abort', () => lose(cut.reason), { once: true })
      },
      async pull(controller) {
        wait()
        try {
          const { done, value } = await chunks.next()
          if (!done) return controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
          end(true)
          controller.close()
        } catch (cause) {
          end(false)
          throw cause
        }
      },
      async cancel() {
        end(false)
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
