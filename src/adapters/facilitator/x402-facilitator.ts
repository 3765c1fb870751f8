/** A facilitator over the REST interface of x402 version 2 (its section 7): `/supported`, `/verify`, `/settle`. */
import { exchangeTo } from '#platform'
import { withoutIdentifier } from '../../domain/idempotency-key.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import { isRecord, type PaymentPayload, type PaymentRequirements, X402_VERSION } from '../../domain/x402.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { MakeExchange } from '../../ports/exchange.js'
import { ASKER_HEADER } from '../../ports/facilitator.js'
import { facilitatorUrl } from './facilitator-url.js'
import type { ListedFacilitator } from './failover.js'
import { watchSupported } from './supported-watch.js'
import {
  ANSWER_BYTES_MAX,
  type Answer,
  answerOf,
  isOutage,
  settlementOf,
  verificationOf,
} from './verdict-of-response.js'

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
  /** Told when it begins or ceases to fail, and when its sponsor changes. */
  readonly warn?: (message: string) => void
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
  const { network, clock = systemClock, verifyTimeoutMs = 10_000, settleTimeoutMs = 20_000 } = options
  const base = facilitatorUrl(options.url, options)
  const url = options.url.replace(/\/+$/, '')
  const exchangeOver = (connectionsMax: number) =>
    (options.exchange ?? exchangeTo)(base.href, {
      connectionsMax,
      bytesMax: ANSWER_BYTES_MAX,
      isEnough: isOutage,
      clock,
    })
  const payments = exchangeOver(options.connectionsMax ?? FACILITATOR_CONNECTIONS_MAX)
  // Payments that hold every connection must not make our own question fail, too.
  const own = exchangeOver(1)
  const bodyOf = bodies(network)
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
      const answer = heard(await own.send({ method: 'GET', path: '/supported', headers: accept, timeoutMs }))
      wasUp = !('outage' in answer) || answer.ofRequest === true
      return answer
    },
    firstWaitMs: options.firstWaitMs ?? 1_000,
    refreshMs: options.refreshMs ?? 5 * 60_000,
    retryMs: options.retryMs ?? 1_000,
    onChange: what => options.warn?.(`Facilitator ${url}: ${what}`),
  })

  function heard(reply: Parameters<typeof answerOf>[0]): Answer {
    const answer = answerOf(reply)
    answered ||= !('outage' in answer) || answer.spoke
    return answer
  }

  async function ask<Verdict>(
    verdictOf: (answer: Answer) => Verdict,
    path: string,
    payment: PaymentPayload,
    requirements: PaymentRequirements,
    timeoutMs: number,
    headers: Readonly<Record<string, string>>,
  ): Promise<Verdict> {
    const listed = watch.known ?? (await watch.current())
    const body = bodyOf(payment, requirements, listed?.network ?? requirements.network)
    if (!body) return verdictOf(NOT_SENT)
    const answer = heard(await payments.send({ method: 'POST', path, headers, body, timeoutMs }))
    lastOutage = 'outage' in answer ? `${path}: ${answer.outage}` : undefined
    return verdictOf(answer)
  }

  return {
    url,
    supported: () => watch.current(),
    async isUp() {
      await watch.refresh()
      return wasUp
    },
    verify: (payment, requirements) =>
      ask(verificationOf, '/verify', payment, requirements, verifyTimeoutMs, known),
    settle: (payment, requirements) =>
      ask(settlementOf, '/settle', payment, requirements, settleTimeoutMs, asker),
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

const [REASON, MESSAGE] = ['invalid_payload', 'the payment is too large, or too deep, to be sent on']

/** Our own refusal, as verify and settle answer it. */
const NOT_SENT: Answer = {
  status: 400,
  body: {
    ...{ isValid: false, invalidReason: REASON, invalidMessage: MESSAGE },
    ...{ success: false, transaction: '', errorReason: REASON, errorMessage: MESSAGE },
  },
}

/**
 * Express reads 100 KiB of JSON unless it is told otherwise, and answers 413 to more. Over HTTP a payment has 16 KiB, over MCP and
 * A2A as much as a body; the largest group of transactions is half of this.
 */
const BODY_BYTES_MAX = 96 * 1024

type Body = Buffer<ArrayBuffer> | undefined

/** Encodes a payment once for all requests about it. */
function bodies(network: NetworkFacts) {
  const encoded = new WeakMap<
    PaymentPayload,
    { requirements: PaymentRequirements; listed: string; body: Body }
  >()
  return (payment: PaymentPayload, requirements: PaymentRequirements, listed: string): Body => {
    const before = encoded.get(payment)
    if (before?.requirements === requirements && before.listed === listed) return before.body
    const body = encode(payment, requirements, listed, network)
    encoded.set(payment, { requirements, listed, body })
    return body
  }
}

/**
 * The body of `/verify` and `/settle`. Facilitators compare networks by exact string, so both fields that name one get the
 * facilitator's own spelling; no signature covers them. The payment's id stays here: with the payment it opens the answer.
 * `undefined` for a payload that cannot be sent: it is nested deeper than the stack, or too large for facilitators' hosts.
 */
function encode(
  payment: PaymentPayload,
  requirements: PaymentRequirements,
  listedNetwork: string,
  network: NetworkFacts,
): Body {
  const nameless = withoutIdentifier(payment)
  const { accepted } = nameless
  // An `accepted` of another network stays as it is: the facilitator must see the payer's own value.
  const respelt = isRecord(accepted) && isIdOf(network, accepted.network)
  try {
    const body = Buffer.from(
      JSON.stringify({
        x402Version: X402_VERSION,
        paymentPayload: respelt
          ? { ...nameless, accepted: { ...accepted, network: listedNetwork } }
          : nameless,
        paymentRequirements: { ...requirements, network: listedNetwork },
      }),
    )
    return body.length > BODY_BYTES_MAX ? undefined : body
  } catch {
    return undefined
  }
}
