/**
 * Posts a signed message for each payment that landed. It never delays an answer, and it is no ledger: messages wait in the
 * memory of this process. A process that is killed loses them, and a receiver that is down for long misses messages. The
 * journal has every payment.
 */
import { createHmac } from 'node:crypto'
import type { IPolicy } from 'cockatiel'
import { exchangeTo } from '#platform'
import type { WebhookOptions } from '../../app/server/options/observer-options.js'
import { SvcError } from '../../domain/errors.js'
import { recentBookings, reportsCharge } from '../../domain/income-bookings.js'
import { formatUsd } from '../../domain/money.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { systemClock, wakefulClock, withTimeout } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import type { JournalHeader } from '../journal/line-format.js'

/** The body of a settlement webhook. Later versions may add fields, and types. */
export interface SettlementMessage {
  /** A payment landed: its call settled it, or a later call found that it had landed. */
  readonly type: 'call.settled'
  /**
   * The payment's transaction id, or the call's id where `txId` is null. The header `webhook-id` has it too. One payment is
   * one event. Two processes may report the same payment, so a receiver ignores an id that it has seen.
   */
  readonly id: string
  /** The id of the call that reports the payment, as in runs and logs. */
  readonly run: string
  /** The agent's handle, as in its journal. */
  readonly agent: string
  /** The network, as in the journal: such as `testnet`. */
  readonly network: string
  /** The name of the endpoint that was called. */
  readonly endpoint: string
  /** The payment's transaction id; null where the payment has no readable transaction and the facilitator named none. */
  readonly txId: string | null
  /** Base units of the asset. */
  readonly amount: string
  /** The amount in dollars, such as `0.01`. */
  readonly usd: string
  /** The asset's id, in decimal. */
  readonly asset: string
  /** The payer; null where it is unknown. */
  readonly payer: string | null
  /** When the call ended, ISO 8601. */
  readonly at: string
  /** The answer was a stream, and the payer did not get all of it. */
  readonly streamBroken?: true
  /** Whose side broke the stream. */
  readonly brokenBy?: 'caller' | 'seller'
}

/** `undefined` for a call that reports no charge. */
function settlementMessage(
  call: EndedCall,
  { agent, network }: Pick<JournalHeader, 'agent' | 'network'>,
): SettlementMessage | undefined {
  const { id, endpoint, txId, amount, asset, payer, startedMs, ms, streamBroken, brokenBy } = call
  if (!reportsCharge(call) || amount === undefined || asset === undefined) return undefined
  return {
    type: 'call.settled',
    id: txId ?? id,
    run: id,
    agent,
    network,
    endpoint,
    txId: txId ?? null,
    amount,
    usd: formatUsd(BigInt(amount)).slice(1),
    asset,
    payer: payer ?? null,
    at: new Date(startedMs + ms).toISOString(),
    ...(streamBroken && { streamBroken, brokenBy }),
  }
}

const LIMITS = {
  /** Attempts of one message, about five minutes together. */
  attemptsMax: 12,
  /** The pause after the first failed attempt. It about doubles after each further one, up to a minute. */
  retryMs: 500,
  /** The time limit of one attempt. */
  timeoutMs: 10_000,
  /** The most messages that wait for delivery. Above it new messages are dropped. */
  pendingMax: 1_000,
}

const CONNECTIONS_MAX = 8
/** Of what the receiver says, which is ignored. It is read so that the connection can be used again. */
const REPLY_BYTES_MAX = 131_072
const RETRY_MAX_MS = 60_000

export function settlementWebhook(
  options: WebhookOptions,
  seller: Pick<JournalHeader, 'agent' | 'network'>,
  logger: Logger,
  limits: Partial<typeof LIMITS> = {},
) {
  const { attemptsMax, retryMs, timeoutMs, pendingMax } = { ...LIMITS, ...limits }
  const url = webhookUrl(options.url)
  const key = secretKey(options.secret)
  const receiver = exchangeTo(url.origin, {
    connectionsMax: CONNECTIONS_MAX,
    bytesMax: REPLY_BYTES_MAX,
    isEnough: () => true,
  })
  const pending = new Map<SettlementMessage, Promise<void>>()
  const books = recentBookings()
  let closing = false
  let policy: Promise<IPolicy> | undefined

  async function post(id: string, body: string): Promise<void> {
    const headers = { 'content-type': 'application/json', ...signedHeaders(key, id, systemClock.now(), body) }
    const path = url.pathname + url.search
    const reply = await receiver.send({ method: 'POST', path, headers, body, timeoutMs })
    if ('failed' in reply) throw new Error(`the receiver did not answer: ${reply.failed}`)
    if (reply.status < 200 || reply.status > 299) throw new Error(`the receiver answered ${reply.status}`)
  }

  async function deliver(message: SettlementMessage): Promise<void> {
    const body = JSON.stringify(message)
    try {
      policy ??= deliveryPolicy(attemptsMax, retryMs, pendingMax)
      await (await policy).execute(() => post(message.id, body))
    } catch (err) {
      if (pending.has(message)) lost(message, err)
    }
    pending.delete(message)
  }

  function lost({ run, txId }: SettlementMessage, err: unknown): void {
    logger.error({ err, id: run, txId, host: url.host }, 'a settlement webhook was not delivered')
  }

  return {
    ended(call: EndedCall): void {
      if (!books(call)) return
      const message = settlementMessage(call, seller)
      if (message === undefined) return
      if (closing) lost(message, new Error('the server is closed'))
      else if (pending.size >= pendingMax) lost(message, new Error(`${pendingMax} messages wait already`))
      // The delivery begins in a turn of its own, so that its entry exists before it can be deleted.
      else pending.set(message, Promise.resolve(message).then(deliver))
    },
    /** Resolves when all messages are delivered, or after `graceMs`. Then the rest is dropped. */
    async close(graceMs: number): Promise<void> {
      closing = true
      // The timer keeps the process alive: between two attempts nothing else does.
      await withTimeout(wakefulClock, graceMs, Promise.all(pending.values())).catch(() => {})
      for (const message of pending.keys()) lost(message, new Error('the server ended first'))
      pending.clear()
      await receiver.destroy()
    },
  }
}

/** Loaded with the first message, because most sellers have no webhook. */
async function deliveryPolicy(attemptsMax: number, initialDelay: number, pendingMax: number) {
  const { bulkhead, ExponentialBackoff, handleAll, retry, wrap } = await import('cockatiel')
  const backoff = new ExponentialBackoff({ initialDelay, maxDelay: RETRY_MAX_MS })
  const again = retry(handleAll, { maxAttempts: attemptsMax - 1, backoff }).dangerouslyUnref()
  // The bulkhead is inside: a message that waits for its next attempt takes no place of a message that is sent.
  return wrap(again, bulkhead(CONNECTIONS_MAX, pendingMax))
}

function webhookUrl(text: unknown): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) return url
  // The URL is not quoted: a webhook's URL may itself be a secret.
  throw new SvcError("A webhook's url is an http(s) URL without a user name", 'invalid_options')
}

const SECRET_PREFIX = 'whsec_'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

function secretKey(secret: unknown): Buffer {
  const text = typeof secret === 'string' ? secret.replace(SECRET_PREFIX, '') : ''
  const key = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (key.length >= SECRET_BYTES_MIN && key.length <= SECRET_BYTES_MAX) return key
  throw new SvcError(
    `A webhook's secret is '${SECRET_PREFIX}' and base64 of ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes, as openssl rand -base64 32 makes them`,
    'invalid_options',
  )
}

/** @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
function signedHeaders(key: Buffer, id: string, nowMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
