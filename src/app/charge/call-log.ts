/** What a handler logs for its caller: kept with the call, and sent with an error answer. */
import { cutText } from '../../domain/cut-text.js'
import type { Call } from './call-record.js'

const LOGS_MAX = 20
const LOG_MESSAGE_LENGTH_MAX = 1_000
const LOG_DATA_LENGTH_MAX = 2_000

/**
 * The entry is rendered when it is logged: later changes to `data` do not change it, and it cannot break or swell the
 * error answer that carries it.
 */
export function log(call: Call, atMs: number, message: string, data?: unknown): void {
  if (call.logs.length === LOGS_MAX) call.logs.shift()
  const entry = { atMs, message: cutText(String(message), LOG_MESSAGE_LENGTH_MAX) }
  call.logs.push(data === undefined ? entry : { ...entry, data: loggable(data) })
}

function loggable(data: unknown): unknown {
  try {
    const text = JSON.stringify(data, withoutErrors) ?? 'null'
    return text.length > LOG_DATA_LENGTH_MAX ? `${cutText(text, LOG_DATA_LENGTH_MAX)}…` : JSON.parse(text)
  } catch {
    return 'not JSON'
  }
}

/**
 * Leaves errors out of log entries. Callers read the entries, and errors hold private data: the errors of an HTTP
 * library hold the request's headers.
 */
function withoutErrors(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key]
  return original instanceof Error ? original.name : value
}
