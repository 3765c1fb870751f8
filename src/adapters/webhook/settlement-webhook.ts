/**
 * Posts a signed message for each payment that landed. It never delays an answer, and it is no ledger: messages wait in
 * this process's memory. A process that is killed loses them, nothing sends them after a restart, and a receiver that is
 * down for long misses what was sent meanwhile. The journal has every payment.
 */
import { bulkhead, ExponentialBackoff, handleAll, retry, wrap } from 'cockatiel'
import { Agent, request } from 'undici'
import { recentBookings } from '../../domain/bookings.js'
import { SvcError } from '../../domain/errors.js'
import { systemClock, wakefulClock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import { deadline, withTimeout } from '../../ports/waiting.js'
import type { Witness } from '../../ports/witness.js'
import { type SettlementMessage, settlementMessage } from './settlement-message.js'
import { secretKey, signedHeaders } from './standard-signature.js'

/** Who is told of each settled payment, and how they know that it was this server who said so. */
export interface WebhookOptions {
  /** Where to post, http or https: whether the way there is private is the seller's to know. */
  readonly url: string
  /** `whsec_` and base64 of 24 to 64 bytes, shared with the receiver. */
  readonly secret: string
}

export interface WebhookLimits {
  /** @default 12, about five minutes in all */
  readonly attemptsMax?: number
  /** Pause after the first failed attempt; about doubled after each further one, up to a minute. @default 500 */
  readonly retryMs?: number
  /** One attempt. @default 10000 */
  readonly timeoutMs?: number
  /** Messages that are not delivered yet; the next one is dropped. @default 1000 */
  readonly pendingMax?: number
}

export interface SettlementWebhook extends Witness {
  /** Resolves when all is delivered, or after `graceMs`; what is left then is given up. */
  close(graceMs: number): Promise<void>
}

const CONNECTIONS_MAX = 8
const ANSWER_BYTES_MAX = 131_072
const RETRY_MAX_MS = 60_000

/** @throws SvcError `invalid_options` */
export function settlementWebhook(
  options: WebhookOptions,
  logger: Logger,
  limits: WebhookLimits = {},
): SettlementWebhook {
  const { attemptsMax = 12, retryMs = 500, timeoutMs = 10_000, pendingMax = 1_000 } = limits
  const url = webhookUrl(options.url)
  const key = secretKey(options.secret)
  const agent = new Agent({ connections: CONNECTIONS_MAX })
  const again = retry(handleAll, {
    maxAttempts: attemptsMax - 1,
    backoff: new ExponentialBackoff({ initialDelay: retryMs, maxDelay: RETRY_MAX_MS }),
  }).dangerouslyUnref()
  // The bulkhead is inside: a message that waits for its next attempt holds no place among those at work.
  const policy = wrap(again, bulkhead(CONNECTIONS_MAX, pendingMax))
  const pending = new Map<SettlementMessage, Promise<void>>()
  const bookings = recentBookings()
  let closing = false

  async function post(id: string, body: string): Promise<void> {
    const { signal, clear } = deadline(systemClock, timeoutMs)
    const statusCode = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signedHeaders(key, id, systemClock.now(), body) },
      body,
      dispatcher: agent,
      signal,
    })
      // Read to its end, within bounds, so that the connection can be used again; what it says is of no interest.
      .then(answer =>
        answer.body.dump({ limit: ANSWER_BYTES_MAX, signal }).then(
          () => answer.statusCode,
          () => answer.statusCode,
        ),
      )
      .finally(clear)
    if (statusCode < 200 || statusCode > 299) throw new Error(`the receiver answered ${statusCode}`)
  }

  async function deliver(message: SettlementMessage): Promise<void> {
    const body = JSON.stringify(message)
    try {
      await policy.execute(() => post(message.id, body))
    } catch (err) {
      if (pending.has(message)) lost(message, err)
    }
    pending.delete(message)
  }

  function lost({ run, txId }: SettlementMessage, err: unknown): void {
    logger.error({ err, id: run, txId, host: url.host }, 'a settlement webhook was not delivered')
  }

  return {
    ended(call) {
      if (!bookings.books(call)) return
      const message = settlementMessage(call)
      if (message === undefined) return
      if (closing) lost(message, new Error('the server is closed'))
      else if (pending.size >= pendingMax) lost(message, new Error(`${pendingMax} messages wait already`))
      // Begun by its own turn, so that an entry is there before it can be deleted.
      else pending.set(message, Promise.resolve(message).then(deliver))
    },
    async close(graceMs) {
      closing = true
      await settledWithin(graceMs, [...pending.values()])
      for (const message of pending.keys()) lost(message, new Error('the server ended first'))
      pending.clear()
      await agent.destroy()
    },
  }
}

/** Its timer keeps the process alive: between two attempts nothing else would. */
async function settledWithin(graceMs: number, deliveries: readonly Promise<void>[]): Promise<void> {
  if (deliveries.length === 0) return
  await withTimeout(wakefulClock, graceMs, Promise.all(deliveries)).catch(() => {})
}

function webhookUrl(text: unknown): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  const web = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url && web && !url.username && !url.password) return url
  // Not quoted: a webhook's URL may itself be a secret.
  throw new SvcError("A webhook's url is an http(s) URL without a user name", 'invalid_options')
}
