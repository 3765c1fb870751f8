/** HTTP for every runtime and framework that speaks the web's own `Request` and `Response`. */
import type { Logger } from '../../ports/logger.js'
import { replyToError } from './error-to-reply.js'
import { type ClientAddress, type FetchCaller, FetchRequest } from './fetch-request.js'
import type { Reply } from './reply.js'
import { pathOf, type RouteTable, replyOf } from './route-table.js'

export interface FetchHandlerOptions {
  readonly clientAddress: ClientAddress | undefined
  readonly logger: Logger
}

export function fetchHandler(
  table: RouteTable,
  { clientAddress, logger }: FetchHandlerOptions,
): (request: Request) => Promise<Response> {
  return async incoming => {
    const request = new FetchRequest(incoming, clientAddress)
    const { method } = request
    const path = pathOf(request.target)
    const methods = table.paid.get(path) ?? table.free.get(path)
    const route = methods ? (methods.get(method) ?? table.otherMethods(methods)) : table.notFound
    const reply = await replyOf(route, request, logger)
    try {
      return responseOf(reply, method, request.caller)
    } catch (cause) {
      request.undelivered()
      const refusal = replyToError(cause, logger)
      return responseOf(reply.instead?.() ?? refusal, method, request.caller)
    }
  }
}

/** @throws TypeError or RangeError for what no response can carry. */
function responseOf({ status, headers, body = '' }: Reply, method: string, caller: FetchCaller): Response {
  const own = headersOf(headers)
  const isText = typeof body === 'string'
  if (!isText && !(body instanceof Uint8Array)) {
    const chunks = body.chunks[Symbol.asyncIterator]()
    return new Response(watched(chunks, caller, body.cut), { status, headers: own })
  }
  const hasBody = method !== 'HEAD' && body.length > 0 && !BODILESS.has(status)
  if (hasBody && caller.isAwaited) {
    const bytes = isText ? new TextEncoder().encode(body) : body
    own.push(['content-length', String(bytes.length)])
    caller.endWithin(TAKEN_WITHIN_MS)
    return new Response(watched(pieces(bytes), caller), { status, headers: own })
  }
  const response = new Response(hasBody ? (body as ConstructorParameters<typeof Response>[0]) : null, {
    status,
    headers: own,
  })
  // No call waits to hear of it.
  caller.end(true)
  return response
}

/** Pairs, which runtimes read faster than they make a `Headers`. */
function headersOf(headers: Reply['headers']): [name: string, value: string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at < headers.length; at += 2) pairs.push([headers[at]!, headers[at + 1]!])
  return pairs
}

/** A host that dropped the response says nothing of it. After this time the answer counts as lost. */
const TAKEN_WITHIN_MS = 60_000

const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

const PIECE_BYTES = 64 * 1024

/**
 * Deno and workerd ask for the next chunk while they still hold one. In one chunk, 30 MB that a caller cut off counted as
 * arrived; in pieces, only what their buffers hold can.
 */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

type Chunks = Iterator<string | Uint8Array> | AsyncIterator<string | Uint8Array>

/** A stream that learns whether its reader took all of it. Nothing is read ahead: the next pull means that the last chunk left. */
function watched(chunks: Chunks, caller: FetchCaller, cut?: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  caller.onGone(() => caller.end(false))
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        cut?.addEventListener('abort', () => controller.error(cut.reason), { once: true })
        if (cut?.aborted) controller.error(cut.reason)
      },
      async pull(controller) {
        try {
          const { done, value } = await chunks.next()
          if (!done) return controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
          caller.end(true)
          controller.close()
        } catch (cause) {
          caller.end(false)
          throw cause
        }
      },
      async cancel() {
        caller.end(false)
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
