/** Requests to servers behind this one, over kept-alive connections of undici. */
import { connect } from 'node:net'
import { answerCode } from '../../domain/answer-codes.js'
import { SvcError } from '../../domain/errors.js'
import type { StreamSource } from '../../domain/handler.js'
import { loadOnce } from '../../domain/load-once.js'
import { codeOf, type ReplyHead, type ReplyRules, ReplyTooLarge, UndiciReply } from './undici-exchange.js'

/** One for all upstreams of a process. Its idle connections keep no process running, so nothing closes it. */
const opened = loadOnce(async () => {
  const { Agent } = await import('undici')
  return new Agent({
    // The handler's own time limit is the one that counts, and a stream's.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 16_384,
  })
})

export interface UpstreamRequest extends Pick<ReplyRules, 'bytesMax' | 'isStream'> {
  readonly origin: string
  /** The path and the query, sent as they stand. */
  readonly path: string
  readonly method: string
  /** Names and values in turn. */
  readonly headers: string[]
  /** A stream needs its length among the headers, where that is known. */
  readonly body?: Uint8Array | string | AsyncIterable<Uint8Array> | null
}

/**
 * Rejects with an `SvcError` of status 502, whose words are for callers, where no whole answer came. Follows no redirect.
 *
 * @param onCancel is given what gives the request and its answer up
 */
export async function exchangeWithUpstream(
  { origin, path, method, headers, body = null, bytesMax, isStream }: UpstreamRequest,
  onCancel: (cancel: () => void) => void,
): Promise<ReplyHead & { readonly body: Uint8Array | StreamSource }> {
  const reply = new UndiciReply({ bytesMax, isStream })
  // It may be cancelled while undici is loaded, when nothing waits for it yet.
  reply.body.catch(() => {})
  onCancel(() => reply.end())
  try {
    // Undici takes every async iterable; its types know streams of Node alone.
    const options = { origin, path, method, headers, body: body as Uint8Array | string | null }
    ;(await opened()).dispatch(options, reply)
    const received = await reply.body
    // Only the closing of the connection says where it ends, and that looks as a server that crashes does.
    if (received instanceof Uint8Array && isOpenEnded(reply.head!, method)) throw failure('upstream_broken')
    return { body: received, ...reply.head! }
  } catch (cause) {
    reply.end()
    throw cause instanceof SvcError ? cause : failed(cause as Error, reply)
  }
}

function isOpenEnded({ status, headers }: ReplyHead, method: string): boolean {
  const isFramed = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return !isFramed && ![204, 205, 304].includes(status) && method !== 'HEAD'
}

function failed(cause: Error, { head }: UndiciReply): SvcError {
  if (cause instanceof ReplyTooLarge) return failure('upstream_too_large')
  const code = codeOf(cause)
  const isAnswer = head !== undefined || /^HTTPParser|UND_ERR_(?:HEADERS|RES)/.test(`${cause.name} ${code}`)
  return failure(isAnswer ? 'upstream_broken' : 'upstream_unreachable', code)
}

/** Whether something listens there. */
export function listensAt(origin: string, timeout: number): Promise<boolean> {
  const { hostname, port, protocol } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise(resolve => {
    const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80), timeout })
    for (const event of ['connect', 'error', 'timeout'])
      socket.once(event, () => {
        socket.destroy()
        resolve(event === 'connect')
      })
  })
}

function failure(code: string, cause?: string): SvcError {
  const { words, status } = answerCode(code)
  return new SvcError(words, code, status, cause)
}
