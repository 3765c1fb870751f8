/**
 * x402's REST of a facilitator, over one in this process: `/supported`, `/verify`, `/settle`, the list of resources, health and
 * metrics. Anyone may ask, so bodies and questions are counted before anything is checked.
 */
import Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import { BodyBudget, type BodyShare } from '../adapters/http/body-memory-limit.js'
import { KoaRequest } from '../adapters/http/koa-request.js'
import { admitReader, holdsToken } from '../adapters/http/private-routes.js'
import { clientAddressOf } from '../adapters/http/read-request.js'
import { errorBody, HttpError } from '../adapters/http/route.js'
import { pathOf } from '../adapters/http/route-table.js'
import { callerIpNetwork } from '../domain/caller-ip-network.js'
import { SvcError } from '../domain/errors.js'
import { encodeHeader, isBounded, isRecord } from '../domain/x402.js'
import { retryAfterSeconds } from '../ports/charge.js'
import { type Counters, perMinute } from '../ports/counters.js'
import type { Logger } from '../ports/logger.js'
import {
  ASKER_HEADER,
  type Asker,
  type FacilitatorCondition,
  type ProtocolFacilitator,
} from '../ports/protocol-facilitator.js'

export interface FacilitatorRest {
  readonly facilitator: ProtocolFacilitator
  /** The resources that were paid for. Its `list` throws `SvcError` with a status for a wrong query. */
  readonly bazaar: {
    add(payload: unknown, requirements: unknown): boolean
    list(query: URLSearchParams): object
  }
  readonly metrics: FacilitatorMetrics
  readonly rateLimit: Counters
  /** Verifications of one address in a minute, as many readings of the list, and ten times as many settlements. */
  readonly perMinute: number
  /** Servers that hold it are not counted. */
  readonly token: string | undefined
  readonly trustProxyHops: number
  readonly operationsHosts: ReadonlySet<string>
  readonly logger: Logger
}

export interface FacilitatorMetrics {
  readonly contentType: string
  text(): Promise<string>
  /** `result` is the code of the answer. */
  answered(operation: Operation, result: string): void
}

type Operation = 'verify' | 'settle'

interface Question {
  readonly payload: Record<string, unknown>
  readonly requirements: Record<string, unknown>
}

/** A group of 16 signed transactions in Base64, and what the payment says of its resource. */
const BODY_BYTES_MAX = 256 * 1024
const BODIES_BYTES_MAX = 32 * 1024 * 1024
const RETRY_AFTER_SECONDS = 5

export function facilitatorRestApp(rest: FacilitatorRest): Koa {
  const { facilitator, bazaar, metrics } = rest
  const operators = { are: 'onInnerNetwork', publicHosts: rest.operationsHosts } as const
  // One for those that hold the token: strangers' bodies cannot crowd theirs out.
  const [bodies, ownBodies] = [new BodyBudget(BODIES_BYTES_MAX), new BodyBudget(BODIES_BYTES_MAX)]

  async function answering(
    ctx: Context,
    operation: Operation,
    answer: (question: Question) => Promise<void>,
  ) {
    const request = new KoaRequest(ctx)
    const isOwn = rest.token !== undefined && holdsToken(ctx.get('authorization'), rest.token)
    if (!isOwn) await admit(request, operation, rest)
    const share = (isOwn ? ownBodies : bodies).open()
    try {
      await answer(await questionIn(request, share))
    } finally {
      // Not sooner: the question stays in memory until its answer.
      share.close()
    }
  }

  const router = new Router({ sensitive: true, strict: true })
  router.get('/supported', async ctx => {
    // Servers ask this to learn whether sales may go on here: without a node none can. The questions that wait share one.
    if (!USABLE.has(facilitator.condition().node) && !USABLE.has((await facilitator.check()).node))
      throw NO_NODE
    ctx.body = facilitator.supported()
  })
  router.post('/verify', ctx =>
    answering(ctx, 'verify', async ({ payload, requirements }) => {
      const answer = await facilitator.verify(payload, requirements)
      metrics.answered('verify', answer.isValid ? 'valid' : answer.invalidReason!)
      ctx.body = answer
    }),
  )
  router.post('/settle', ctx =>
    answering(ctx, 'settle', async ({ payload, requirements }) => {
      const answer = await facilitator.settle(payload, requirements, askerIn(ctx))
      metrics.answered('settle', answer.success ? 'settled' : answer.errorReason!)
      // Only what was paid for is listed: a verification costs its asker nothing.
      if (answer.success && isListed(rest, payload, requirements)) {
        ctx.set('EXTENSION-RESPONSES', encodeHeader({ bazaar: { status: 'success' } }))
      }
      ctx.body = answer
    }),
  )
  router.get('/discovery/resources', async ctx => {
    await admit(new KoaRequest(ctx), 'list', rest)
    ctx.body = bazaar.list(new URLSearchParams(ctx.querystring))
  })
  router.get('/health', async ctx => {
    admitReader(new KoaRequest(ctx), operators)
    const condition = await facilitator.check()
    const ok = condition.node === 'ok' && condition.sponsorMicroAlgos !== null
    ctx.status = ok ? 200 : 503
    ctx.body = { ok, sponsor: facilitator.sponsor, ...condition }
  })
  router.get('/metrics', async ctx => {
    admitReader(new KoaRequest(ctx), operators)
    ctx.type = metrics.contentType
    ctx.body = await metrics.text()
  })
  const app = new Koa()
  app.on('error', err => rest.logger.debug({ err }, 'a response could not be written'))
  app.use(corsAndErrors(rest))
  app.use(router.routes() as Middleware)
  app.use(router.allowedMethods({ throw: true, methodNotAllowed: () => NOT_ALLOWED }) as Middleware)
  return app
}

const NOT_ALLOWED = new HttpError(405, 'method_not_allowed', 'This path takes another method.')
const USABLE: ReadonlySet<FacilitatorCondition['node']> = new Set(['unasked', 'ok'])
const NO_NODE = new HttpError(503, 'node_unavailable', 'The facilitator cannot answer now. Ask again later.')
const OPERATIONS: ReadonlySet<string> = new Set(['/health', '/metrics'])

function corsAndErrors({ metrics, logger }: FacilitatorRest): Middleware {
  return async (ctx, next) => {
    const path = pathOf(ctx.req.url!)
    if (!OPERATIONS.has(path)) ctx.set('Access-Control-Allow-Origin', '*')
    ctx.set('Cache-Control', 'no-store')
    if (ctx.method === 'OPTIONS') {
      ctx.set('Access-Control-Allow-Methods', 'GET, POST')
      ctx.set('Access-Control-Allow-Headers', '*')
      ctx.set('Access-Control-Max-Age', '600')
      ctx.status = 204
      return
    }
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined)
        throw new HttpError(404, 'not_found', 'Nothing is here.')
    } catch (error) {
      const { status, code, message, headers } = refusalOf(error, logger)
      if (path === '/verify' || path === '/settle') metrics.answered(path.slice(1) as Operation, code)
      for (let at = 0; at < headers.length; at += 2) ctx.set(headers[at]!, headers[at + 1]!)
      if ((status === 503 || status === 429) && headers.length === 0)
        ctx.set('Retry-After', String(RETRY_AFTER_SECONDS))
      ctx.status = status
      ctx.body = errorBody(code, message)
    }
  }
}

function refusalOf(error: unknown, logger: Logger): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof SvcError && error.status !== undefined) {
    if (error.expose) return new HttpError(error.status, error.code, error.message)
    // Its message may say where the node is.
    logger.warn({ err: error }, 'a question could not be answered')
    return new HttpError(error.status, error.code, 'The facilitator cannot answer now. Ask again later.')
  }
  logger.error({ err: error }, 'Unexpected error while answering a request')
  return new HttpError(500, 'internal_error', 'Something broke on our side.')
}

/** The handler has run before a server asks for a settlement, so more settlements are allowed than verifications. */
const SETTLEMENTS_TO_A_VERIFICATION = 10

async function admit(request: KoaRequest, operation: Operation | 'list', rest: FacilitatorRest) {
  const address = callerIpNetwork(clientAddressOf(request, rest.trustProxyHops))
  const max = operation === 'settle' ? SETTLEMENTS_TO_A_VERIFICATION * rest.perMinute : rest.perMinute
  const verdict = await rest.rateLimit.take(`${operation}:${address}`, perMinute(max))
  if (verdict.admitted) return
  request.skipBody()
  const retryAfter = ['Retry-After', retryAfterSeconds(verdict.retryAfterMs)]
  const message = 'Too many questions from this address, by servers that do not hold the facilitator’s token.'
  throw new HttpError(429, 'rate_limited', message, retryAfter)
}

async function questionIn(request: KoaRequest, share: BodyShare): Promise<Question> {
  const body = await request.readBody({ bytesMax: BODY_BYTES_MAX }, share)
  if (body.kind === 'malformed') throw new HttpError(400, 'invalid_json', body.why)
  const { paymentPayload: payload, paymentRequirements: requirements } =
    body.kind === 'read' && isRecord(body.value) ? body.value : {}
  if (!isRecord(payload) || !isRecord(requirements)) {
    const message = 'The body has the objects paymentPayload and paymentRequirements.'
    throw new HttpError(400, 'invalid_request', message)
  }
  if (isBounded(payload, requirements)) return { payload, requirements }
  throw new HttpError(
    400,
    'invalid_request',
    'The payment, or its requirements, are larger than they can be.',
  )
}

const ASKER_ID = /^[\w-]{16,64}$/

/** `undefined` for servers that are not ours. */
function askerIn(ctx: Context): Asker | undefined {
  const id = ctx.get(ASKER_HEADER)
  return ASKER_ID.test(id) ? { id, inProcess: false } : undefined
}

/** The payment is settled, whatever its description is. */
function isListed({ bazaar }: FacilitatorRest, payload: unknown, requirements: unknown): boolean {
  try {
    return bazaar.add(payload, requirements)
  } catch {
    return false
  }
}
