/**
 * Keeps the last good answer of `/supported`. It is read at once and refreshed in the background; a later failure does not
 * discard it. Callers wait only for the first read, and only for a short time.
 */
import { sharedQuestions } from '../../domain/load-once.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import { isAddress } from '../../domain/untrusted-text.js'
import { isRecord, memberAt, X402_VERSION } from '../../domain/x402.js'
import { type Cancel, type Clock, sleep } from '../../ports/clock.js'
import type { Supported } from '../../ports/facilitator.js'
import type { Answer } from './verdict-of-response.js'

export interface WatchOptions {
  /** The first callers' wait begins when it resolves. */
  readonly opened?: Promise<unknown>
  readonly read: () => Promise<Answer>
  readonly network: NetworkFacts
  readonly clock: Pick<Clock, 'after'>
  readonly firstWaitMs: number
  readonly refreshMs: number
  /** The pause after the first failure. It doubles after each further failure, up to `refreshMs`. */
  readonly retryMs: number
  /** Called when reads begin to fail or to succeed, and when the sponsor changes; not for every failure. */
  readonly onChange: (what: string) => void
}

export function watchSupported(options: WatchOptions) {
  let known: Supported | undefined
  let lastError: string | undefined
  let failures = 0
  const reading = sharedQuestions<void>()
  let firstWait: Promise<void> | undefined
  let cancel: Cancel | undefined
  let closed = false

  async function read(): Promise<void> {
    const answer = await options.read()
    const found = supportedIn(answer, options.network)
    if (closed) return
    if (typeof found === 'string') failed(found)
    else succeeded(found)
    const delayMs = failures === 0 ? options.refreshMs : options.retryMs * 2 ** Math.min(failures - 1, 20)
    cancel?.()
    cancel = options.clock.after(Math.min(delayMs, options.refreshMs), refresh)
  }

  function failed(why: string): void {
    failures++
    if (lastError === undefined) options.onChange(`no usable /supported: ${why}`)
    lastError = why
  }

  function succeeded(found: Supported): void {
    failures = 0
    if (lastError !== undefined) options.onChange('/supported answers again')
    else if (known && known.feePayer !== found.feePayer)
      options.onChange(`fees are now sponsored by ${found.feePayer}`)
    lastError = undefined
    known = found
  }

  const refresh = () => reading(read)
  const firstRead = refresh()

  async function firstAnswer(): Promise<void> {
    await options.opened
    await Promise.race([firstRead, sleep(options.clock, options.firstWaitMs)])
  }

  return {
    /** The last good answer, without waiting. */
    get known() {
      return known
    },
    /** Why the latest read failed; `undefined` where it succeeded. */
    get lastError() {
      return lastError
    },
    /** Returns `known`. Before the first read, callers share one wait of at most `firstWaitMs`. */
    current(): Supported | Promise<Supported | undefined> {
      if (known) return known
      firstWait ??= firstAnswer()
      return firstWait.then(() => known)
    },
    /** Reads now. Concurrent callers share one read. */
    refresh,
    close() {
      closed = true
      cancel?.()
    },
  }
}

/** Our kind in the list, or why there is none. */
function supportedIn(answer: Answer, network: NetworkFacts): Supported | string {
  if ('outage' in answer) return answer.outage
  if (answer.status !== 200) return `status ${answer.status}`
  const { kinds } = answer.body
  if (!Array.isArray(kinds)) return 'it lists no kinds'
  for (const kind of kinds as unknown[]) {
    if (!isRecord(kind) || kind.scheme !== 'exact' || kind.x402Version !== X402_VERSION) continue
    if (!isIdOf(network, kind.network)) continue
    const feePayer = memberAt(kind, 'extra', 'feePayer')
    return { network: kind.network, ...(isAddress(feePayer) ? { feePayer } : {}) }
  }
  return `it does not list exact payments on ${network.name}`
}
