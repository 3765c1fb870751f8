/** Many calls, a few at a time. */
import { SdkError } from '../../domain/errors.js'
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

const CONCURRENCY = 8

/** @throws SvcError `invalid_options`; a call's own failure is an outcome, and stops no other. */
export async function manyCalls<T>(
  requests: Iterable<CallRequest>,
  { concurrency = CONCURRENCY, signal }: ManyOptions,
  call: (request: CallRequest) => Promise<CallResult<T>>,
): Promise<CallOutcome<T>[]> {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new SdkError('callMany: concurrency is a whole number from 1', 'invalid_options')
  }
  const queue = entriesOf(requests)
  const outcomes: CallOutcome<T>[] = []
  const worker = async () => {
    for (const [at, request] of queue) {
      outcomes[at] = await outcomeOf(call({ ...request, signal: eitherSignal(request.signal, signal) }))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return outcomes
}

/** Fires when either signal does. */
function eitherSignal(one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  return one && other ? AbortSignal.any([one, other]) : (one ?? other)
}

/** One iterator for all workers: each worker takes the next request. */
function* entriesOf<T>(items: Iterable<T>): Generator<[number, T]> {
  let at = 0
  for (const item of items) yield [at++, item]
}

async function outcomeOf<T>(called: Promise<CallResult<T>>): Promise<CallOutcome<T>> {
  try {
    return { ok: true, result: await called }
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error : new Error(String(error)) }
  }
}
