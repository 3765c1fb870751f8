/**
 * x402's REST of a facilitator, over one in this process: `/supported`, `/verify`, `/settle`, the list of resources, health and
 * metrics. Anyone may ask, so bodies and questions are counted before anything is checked.
 */
import { turns } from '#platform'
import { BodyBudget, type BodyShare } from '../adapters/http/body-memory-limit.js'
import { koaHost } from '../adapters/http/koa-host.js'
import type { Koa } from '../adapters/http/koa-request.js'
import { holdsToken, privateRoute } from '../adapters/http/private-routes.js'
import { clientAddressOf } from '../adapters/http/read-request.js'
import { HttpError, jsonReply, type Reply } from '../adapters/http/reply.js'
import type { FreeRoute, HostRequest } from '../adapters/http/route.js'
import { routeTable } from '../adapters/http/route-table.js'
import { loggerOrSilent } from '../adapters/log/quiet-logger.js'
import { memoryCounters } from '../adapters/memory/counters.js'
import { callerIpNetwork } from '../domain/caller-ip-network.js'
import { SvcError } from '../domain/errors.js'
import {
  hostNames,
  type Option,
  optional,
  positive,
  readOptions,
  secretToken,
  whole,
} from '../domain/option-checks.js'
import { encodeHeader } from '../domain/x402.js'
import { retryAfterSeconds } from '../ports/charge.js'
import { systemClock } from '../ports/clock.js'
import { perMinute } from '../ports/counters.js'
import {
  ASKER_HEADER,
  type Asker,
  type FacilitatorCondition,
  type ProtocolFacilitator,
} from '../ports/facilitator.js'
import type { Logger } from '../ports/logger.js'
import { type BazaarIndex, createBazaarIndex } from './bazaar-index.js'
import { facilitatorMetrics } from './facilitator-metrics.js'
import { PAYMENT_FEE_MICRO_ALGOS } from './fee-budget.js'
import { type Question, questionIn } from './x402-answers.js'

type Operation = 'verify' | 'settle'

/** A group of 16 signed transactions in Base64, and what the payment says of its resource. */
const BODY_BYTES_MAX = 256 * 1024
const BODIES_BYTES_MAX = 32 * 1024 * 1024
/** The handler has run before a server asks for a settlement, so more settlements are allowed than verifications. */
const SETTLEMENTS_TO_A_VERIFICATION = 10

/** The options of {@link facilitatorApp}. */
export interface FacilitatorAppOptions {
  /**
   * How many verifications one address (of IPv6, one /64) may ask for in a minute. It may read the list of resources as often,
   * and ask for ten times as many settlements: a server whose settlement is refused has done its work. A server asks for one of
   * each for a sale.
   *
   * @default 600
   */
  readonly perMinute?: number
  /**
   * By which your servers are known: 16 or more visible ASCII characters, which `serve` sends where `facilitatorUrl` is
   * `{ url, token }`. Servers that send it are not limited by their address.
   *
   * @default none: every server counts as a stranger
   */
  readonly token?: string | undefined
  /** How many proxies in front are trusted to report the caller's address. @default 0 */
  readonly trustProxy?: number
  /** Public host names under which `/health` and `/metrics` answer. Addresses and inner names always do. @default none */
  readonly operationsHosts?: readonly string[]
  /** Any pino-compatible logger. @default silent */
  readonly logger?: Logger
}

const OPTIONS = {
  perMinute: positive(600),
  token: optional(secretToken),
  trustProxy: whole(0, 0),
  operationsHosts: hostNames,
  logger: loggerOrSilent,
} satisfies Record<keyof FacilitatorAppOptions, Option<unknown>>

/**
 * Makes the Koa app of a facilitator: x402's REST, for servers in other processes. Does not listen, and does not close the
 * facilitator.
 *
 * @example
 * const sponsor = { mnemonic: process.env.SVC_SPONSOR_MNEMONIC ?? '' }
 * const node = { network: 'testnet', algodUrl: 'http://127.0.0.1:8080' }
 * facilitatorApp(createFacilitator({ ...node, sponsor, payTo: 'anyone' })).listen(4022)
 *
 * @throws SvcError `invalid_options`
 */
export function facilitatorApp(facilitator: ProtocolFacilitator, options: FacilitatorAppOptions = {}): Koa {
  const terms = readOptions(options, OPTIONS)
  const { logger, token } = terms
  const bazaar = createBazaarIndex(systemClock.now)
  const metrics = facilitatorMetrics(facilitator.condition)
  const counters = memoryCounters()
  const operators = { are: 'onInnerNetwork', publicHosts: terms.operationsHosts } as const
  // One for those that hold the token: strangers' bodies cannot crowd theirs out.
  const [bodies, ownBodies] = [new BodyBudget(BODIES_BYTES_MAX), new BodyBudget(BODIES_BYTES_MAX)]

  async function admit(request: HostRequest, operation: Operation | 'list'): Promise<void> {
    const address = callerIpNetwork(clientAddressOf(request, terms.trustProxy))
    const max = operation === 'settle' ? SETTLEMENTS_TO_A_VERIFICATION * terms.perMinute : terms.perMinute
    const verdict = await counters.take(`${operation}:${address}`, perMinute(max))
    if (verdict.admitted) return
    request.skipBody()
    const retryAfter = ['Retry-After', retryAfterSeconds(verdict.retryAfterMs)]
    const message =
      'Too many questions from this address, by servers that do not hold the facilitator’s token.'
    throw new HttpError(429, 'rate_limited', message, retryAfter)
  }

  async function answering(
    request: HostRequest,
    operation: Operation,
    answer: (question: Question) => Promise<Reply>,
  ): Promise<Reply> {
    const isOwn = token !== undefined && holdsToken(request.headers.authorization, token)
    if (!isOwn) await admit(request, operation)
    const share = (isOwn ? ownBodies : bodies).open()
    try {
      return await answer(await asked(request, share))
    } finally {
      // Not sooner: the question stays in memory until its answer.
      share.close()
    }
  }

  const route = (method: FreeRoute['method'], path: string, handle: FreeRoute['handle']): FreeRoute => ({
    ...{ method, path, headers: ['Cache-Control', 'no-store'] },
    handle: async request => {
      try {
        return await handle(request)
      } catch (error) {
        const refusal = refusalOf(error, logger)
        const code = refusal instanceof HttpError ? refusal.code : 'internal_error'
        if (method === 'POST') metrics.answered(path.slice(1) as Operation, code)
        throw refusal
      }
    },
  })
  const freeRoutes = [
    route('GET', '/supported', async () => {
      // Servers ask this to learn whether sales may go on here: without a node none can. The questions that wait share one.
      if (!USABLE.has(facilitator.condition().node) && !USABLE.has((await facilitator.check()).node))
        throw NO_NODE
      return jsonReply(200, facilitator.supported())
    }),
    route('POST', '/verify', asked =>
      answering(asked, 'verify', async ({ payload, requirements }) => {
        const answer = await facilitator.verify(payload, requirements)
        metrics.answered('verify', answer.isValid ? 'valid' : answer.invalidReason!)
        return jsonReply(200, answer)
      }),
    ),
    route('POST', '/settle', asked =>
      answering(asked, 'settle', async ({ payload, requirements }) => {
        const answer = await facilitator.settle(payload, requirements, askerIn(asked))
        metrics.answered('settle', answer.success ? 'settled' : answer.errorReason!)
        // Only what was paid for is listed: a verification costs its asker nothing.
        const isNews = answer.success && isListed(bazaar, payload, requirements)
        return jsonReply(200, answer, isNews ? LISTED : [])
      }),
    ),
    route('GET', LIST_PATH, async asked => {
      await admit(asked, 'list')
      return jsonReply(200, bazaar.list(new URLSearchParams(asked.target.slice(LIST_PATH.length))))
    }),
    privateRoute('/health', operators, async () => {
      const condition = await facilitator.check()
      const ok = condition.node === 'ok' && (condition.sponsorMicroAlgos ?? 0n) >= PAYMENT_FEE_MICRO_ALGOS
      return jsonReply(ok ? 200 : 503, { ok, sponsor: facilitator.sponsor, ...condition })
    }),
    privateRoute('/metrics', operators, async () => {
      return { status: 200, headers: ['Content-Type', metrics.contentType], body: await metrics.text() }
    }),
  ]
  const cors = { headers: ANY_ORIGIN, preflight: ANY_HEADER }
  const table = routeTable({ endpoints: [], freeRoutes, basePath: '', cors, notFound: NOTHING })
  return koaHost(table, logger, turns()).app
}

const LIST_PATH = '/discovery/resources'
const LISTED = ['EXTENSION-RESPONSES', encodeHeader({ bazaar: { status: 'success' } })]
const USABLE: ReadonlySet<FacilitatorCondition['node']> = new Set(['unasked', 'ok'])
const UNAVAILABLE = 'The facilitator cannot answer now. Ask again later.'
const NOTHING = new HttpError(404, 'not_found', 'Nothing is here.')
const ANY_ORIGIN = ['Access-Control-Allow-Origin', '*']
const ANY_HEADER = ['Access-Control-Allow-Headers', '*', 'Access-Control-Max-Age', '600']
const RETRY_AFTER = ['Retry-After', '5']
const NO_NODE = new HttpError(503, 'node_unavailable', UNAVAILABLE, RETRY_AFTER)

function refusalOf(error: unknown, logger: Logger): unknown {
  if (!(error instanceof SvcError) || error.status === undefined) return error
  const { status, code, message, expose } = error
  // Its message may say where the node is.
  if (!expose) logger.warn({ err: error }, 'a question could not be answered')
  const headers = status === 503 || status === 429 ? RETRY_AFTER : []
  return new HttpError(status, code, expose ? message : UNAVAILABLE, headers)
}

async function asked(request: HostRequest, share: BodyShare): Promise<Question> {
  const body = await request.readBody({ bytesMax: BODY_BYTES_MAX }, share)
  if (body.kind === 'malformed') throw new HttpError(400, 'invalid_json', body.why)
  const question = questionIn(body.kind === 'read' ? body.value : undefined)
  if (typeof question === 'string') throw new HttpError(400, 'invalid_request', `${question}.`)
  return question
}

const ASKER_ID = /^[\w-]{16,64}$/

/** `undefined` for servers that are not ours. */
function askerIn({ headers }: HostRequest): Asker | undefined {
  const id = String(headers[ASKER_HEADER.toLowerCase()])
  return ASKER_ID.test(id) ? { id, inProcess: false } : undefined
}

/** The payment is settled, whatever its description is. */
function isListed(bazaar: BazaarIndex, payload: unknown, requirements: unknown): boolean {
  try {
    return bazaar.add(payload, requirements)
  } catch {
    return false
  }
}
