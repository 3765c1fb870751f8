/** Many calls, a few at a time. */
import { SdkError, shown } from '../../domain/errors.js'
import { refuseUnknown } from '../../domain/option-checks.js'
import { isRecord } from '../../domain/x402.js'
import type { CallOptions } from './build-request.js'
import type { CallResult } from './result-types.js'

/** One of many calls: what `call` takes, as an object. */
export interface CallRequest extends CallOptions {
  /** Absolute, http or https. */
  readonly url: string | URL
  /** Sent as JSON. */
  readonly body?: unknown
}

/** How many calls are made at once, and what ends them. */
export interface ManyOptions {
  /** How many calls are under way at once. @default 8 */
  readonly concurrency?: number
  /** Ends the calls that are under way, and refuses those that have not begun. */
  readonly signal?: AbortSignal
}

/** What `call` would have returned or thrown. */
export type CallOutcome<T = unknown> =
  | { readonly ok: true; readonly result: CallResult<T> }
  | { readonly ok: false; readonly error: Error }

/** A call's own failure is an outcome and stops no other, as is an item that is no request, or an iterable that throws. */
export async function manyCalls<T>(
  requests: Iterable<CallRequest>,
  options: ManyOptions,
  call: (request: CallRequest) => Promise<CallResult<T>>,
): Promise<CallOutcome<T>[]> {
  refuseUnknown(options, ['concurrency', 'signal'])
  const { concurrency = 8, signal } = options
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new SdkError('callMany: concurrency is a whole number from 1', 'invalid_options')
  if (typeof (requests as Partial<Iterable<CallRequest>> | undefined)?.[Symbol.iterator] !== 'function')
    throw new SdkError('callMany: requests is an iterable', 'invalid_options')
  const queue = entriesOf(requests)
  const outcomes: CallOutcome<T>[] = []
  const made = async (next: () => CallRequest) => {
    const request: unknown = next()
    if (!isRecord(request))
      throw new SdkError(`callMany: a request is {url, body?}, not ${shown(request)}`, 'invalid_request')
    const { signal: own, ...given } = request as unknown as CallRequest
    return call({ ...given, signal: own && signal ? AbortSignal.any([own, signal]) : (own ?? signal) })
  }
  const worker = async () => {
    for (const [at, next] of queue) outcomes[at] = await outcomeOf(made(next))
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return outcomes
}

/** One iterator for all workers: each worker takes the next request, or what the iterable threw in its place. */
function* entriesOf<T>(items: Iterable<T>): Generator<[number, () => T]> {
  let at = 0
  try {
    for (const item of items) yield [at++, () => item]
  } catch (error) {
    yield [
      at,
      () => {
        throw error
      },
    ]
  }
}

async function outcomeOf<T>(called: Promise<CallResult<T>>): Promise<CallOutcome<T>> {
  try {
    return { ok: true, result: await called }
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error : new Error(shown(error)) }
  }
}
