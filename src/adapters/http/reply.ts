/** What HTTP answers: whole before its first byte leaves, so that it is sent in one piece or not at all. */
import type { Readable } from 'node:stream'

export interface Reply {
  readonly status: number
  /** Names and values in turn, as `writeHead` takes them: none is looked up, merged or set twice on the way. */
  readonly headers: readonly string[]
  /** A stream is sent as it comes. */
  readonly body?: string | Uint8Array | Readable
  /** What is said in its place where it cannot be written: how the call ended stays true. */
  instead?(): Reply
}

export function jsonReply(status: number, value: unknown, headers: readonly string[] = []): Reply {
  return jsonTextReply(status, JSON.stringify(value), headers)
}

export function jsonTextReply(status: number, body: string, headers: readonly string[] = []): Reply {
  return { status, headers: ['Content-Type', 'application/json; charset=utf-8', ...headers], body }
}
