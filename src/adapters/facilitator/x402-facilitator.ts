/** A facilitator over the REST interface of x402 version 2 (its section 7): `/supported`, `/verify`, `/settle`. */
import { BlockList, isIP } from 'node:net'
import { exchangeTo } from '#platform'
import { SvcError } from '../../domain/errors.js'
import type { NetworkFacts } from '../../domain/network.js'
import type { PaymentPayload, PaymentRequirements } from '../../domain/x402.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { Exchange, MakeExchange, OutgoingRequest } from '../../ports/exchange.js'
import { type Logger, silentLogger } from '../../ports/logger.js'
import { ASKER_HEADER } from '../../ports/protocol-facilitator.js'
import { ANSWER_BYTES_MAX, type Answer, answerOf, outageOf } from './facilitator-response.js'
import type { ListedFacilitator } from './failover.js'
import { envelopes } from './request-body.js'
import { watchSupported } from './supported-watch.js'
import { settlementOf, verificationOf } from './verdict-of-response.js'

export const FACILITATOR_CONNECTIONS_MAX = 512

export interface FacilitatorOptions {
  readonly url: string
  readonly network: NetworkFacts
  readonly verifyTimeoutMs?: number
  readonly settleTimeoutMs?: number
  readonly supportedTimeoutMs?: number
  /** How long the first callers of `supported` wait for its first answer. */
  readonly firstWaitMs?: number
  readonly refreshMs?: number
  readonly retryMs?: number
  /** A settle holds its connection for some seconds, until the chain confirms: this bounds the payments in a second. */
  readonly connectionsMax?: number
  /** Accepts plain http to a public host. */
  readonly allowHttp?: boolean
  /** By which the facilitator knows this server. Sent with payments, and to this URL alone. */
  readonly token?: string | undefined
  /** Names this server to a facilitator of ours, see `submittedBefore`. */
  readonly askerId?: string
  readonly logger?: Logger
  readonly clock?: Pick<Clock, 'after'>
  /** @default HTTP */
  readonly exchange?: MakeExchange
}

export interface X402Facilitator extends ListedFacilitator {
  readonly status: FacilitatorStatus
  /** Whether it has ever answered. A facilitator in this process asks its node, if the node has not answered yet. */
  ready(): boolean | Promise<boolean>
  /** Stops reading in the background. Payments in flight end, at their time limit at the latest. */
  close(): Promise<void>
}

export interface FacilitatorStatus {
  /** Whether it has ever answered, even with "not found". */
  readonly answered: boolean
  /** The present error; `undefined` where the latest answers were good. */
  readonly lastError?: string
}

/** @throws SvcError `invalid_facilitator`, see `facilitatorUrl`. Reading `/supported` starts at once, in the background. */
export function x402Facilitator(options: FacilitatorOptions): X402Facilitator {
  const { network, logger = silentLogger, clock = systemClock } = options
  const { verifyTimeoutMs = 10_000, settleTimeoutMs = 20_000 } = options
  const base = facilitatorUrl(options.url, options)
  const url = options.url.replace(/\/+$/, '')
  const exchangeOver = (connectionsMax: number) =>
    (options.exchange ?? exchangeTo)(base.href, {
      connectionsMax,
      bytesMax: ANSWER_BYTES_MAX,
      isEnough: status => outageOf(status) !== undefined,
    })
  const payments = exchangeOver(options.connectionsMax ?? FACILITATOR_CONNECTIONS_MAX)
  // Payments that hold every connection must not make our own question fail, too.
  const own = exchangeOver(1)
  const envelopeOf = envelopes(network)
  const accept = { accept: 'application/json' }
  const known = {
    ...accept,
    'content-type': 'application/json',
    ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
  }
  const asker = options.askerId === undefined ? known : { ...known, [ASKER_HEADER]: options.askerId }
  let answered = false
  let lastOutage: string | undefined
  let wasUp = false

  const watch = watchSupported({
    network,
    clock,
    opened: own.open(),
    async read() {
      const timeoutMs = options.supportedTimeoutMs ?? 5_000
      const answer = await heard(own, { method: 'GET', path: '/supported', headers: accept, timeoutMs })
      wasUp = !('outage' in answer) || answer.ofRequest === true
      return answer
    },
    firstWaitMs: options.firstWaitMs ?? 1_000,
    refreshMs: options.refreshMs ?? 5 * 60_000,
    retryMs: options.retryMs ?? 1_000,
    onChange: what => warn(logger, `Facilitator ${url}: ${what}`),
  })

  async function heard(exchange: Exchange, request: OutgoingRequest): Promise<Answer> {
    const answer = answerOf(await exchange.send(request))
    answered ||= !('outage' in answer) || answer.spoke
    return answer
  }

  async function ask(
    path: string,
    payment: PaymentPayload,
    requirements: PaymentRequirements,
    timeoutMs: number,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const listed = watch.known ?? (await watch.current())
    const body = envelopeOf(payment, requirements, listed?.network ?? requirements.network)
    if (!body) return NOT_SENT
    const answer = await heard(payments, { method: 'POST', path, headers, body, timeoutMs })
    lastOutage = 'outage' in answer ? `${path}: ${answer.outage}` : undefined
    return answer
  }

  return {
    url,
    supported: () => watch.current(),
    async isUp() {
      await watch.refresh()
      return wasUp
    },
    verify: async (payment, requirements) =>
      verificationOf(await ask('/verify', payment, requirements, verifyTimeoutMs, known)),
    settle: async (payment, requirements) =>
      settlementOf(await ask('/settle', payment, requirements, settleTimeoutMs, asker)),
    get status() {
      const lastError = watch.lastError === undefined ? lastOutage : `/supported: ${watch.lastError}`
      return lastError === undefined ? { answered } : { answered, lastError }
    },
    ready: () => answered,
    async close() {
      watch.close()
      await Promise.all([own.destroy(), payments.close()])
    },
  }
}

const WHY = { reason: 'invalid_payload', message: 'the payment is too large, or too deep, to be sent on' }

/** Our own refusal, as verify and settle answer it. */
const NOT_SENT: Answer = {
  status: 400,
  body: {
    isValid: false,
    invalidReason: WHY.reason,
    invalidMessage: WHY.message,
    success: false,
    transaction: '',
    errorReason: WHY.reason,
    errorMessage: WHY.message,
  },
}

function warn(logger: Logger, message: string): void {
  try {
    logger.warn({}, message)
  } catch {
    // An error of the logger is no outage of the facilitator.
  }
}

const LOCAL = new BlockList()
LOCAL.addSubnet('127.0.0.0', 8, 'ipv4')
LOCAL.addSubnet('10.0.0.0', 8, 'ipv4')
LOCAL.addSubnet('172.16.0.0', 12, 'ipv4')
LOCAL.addSubnet('192.168.0.0', 16, 'ipv4')
LOCAL.addAddress('::1', 'ipv6')
LOCAL.addSubnet('fc00::', 7, 'ipv6')

/**
 * The URL that payments may be sent to. On plain http across a public network, an attacker could withhold a signed payment and
 * forge the answer "settled", and so get work for free.
 *
 * @throws SvcError `invalid_facilitator` unless the URL is https, or http to a host that is not public.
 */
export function facilitatorUrl(
  text: string,
  options: { readonly allowHttp?: boolean; readonly token?: string | undefined } = {},
): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalid('The facilitator must be an http(s) URL', text)
  // Paths are appended to the URL, so a query would be lost; health shows the URL, so credentials would be public.
  if (url.username || url.password || url.search || url.hash)
    throw invalid('The facilitator URL must not carry credentials, a query or a fragment', url.host)
  if (url.protocol === 'https:' || isLocal(url.hostname)) return url
  if (options.token !== undefined)
    throw invalid(`The facilitator ${url.host} is public: a token is sent there over https alone`, text)
  if (!options.allowHttp)
    throw invalid(`The facilitator ${url.host} is public: use https, or allowHttp to accept the risk`, text)
  return url
}

function isLocal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  if (family !== 0) return LOCAL.check(host, family === 4 ? 'ipv4' : 'ipv6')
  return !host.includes('.') || host.endsWith('.internal') || host.endsWith('.localhost')
}

function invalid(why: string, offending: string): SvcError {
  return new SvcError(why, 'invalid_facilitator', undefined, offending)
}
