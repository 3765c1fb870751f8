/**
 * x402's REST of a facilitator, over one in this process: `/supported`, `/verify`, `/settle`, the list of resources, health and
 * metrics. Anyone may ask, so bodies and questions are counted before anything is checked.
 */
import Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import { SvcError } from '../../../domain/errors.js'
import { encodeHeader, isRecord } from '../../../domain/x402.js'
import type { Logger } from '../../../ports/logger.js'
import { ASKER_HEADER, type Asker, type ProtocolFacilitator } from '../../../ports/protocol-facilitator.js'
import type { RateLimit } from '../../../ports/rate-limit.js'
import { BodyBudget } from '../body-memory-limit.js'
import { errorBody, HttpError } from '../error-to-reply.js'
import { clientAddressOf } from '../forwarded-address.js'
import { admitToOperations } from '../free-routes/metrics-and-runs-access.js'
import { NodeRequest } from '../node-request.js'
import { pathOf } from '../route-table.js'

export interface FacilitatorRest {
  readonly facilitator: ProtocolFacilitator
  /** The resources that were paid for. Its `list` throws `SvcError` with a status for a wrong query. */
  readonly catalogue: {
    add(payload: unknown, requirements: unknown): boolean
    list(query: URLSearchParams): object
  }
  readonly metrics: FacilitatorMetrics
  readonly rateLimit: RateLimit
  /** Verifications of one address in a minute, and as many settlements. */
  readonly perMinute: number
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

/** A group of 16 signed transactions in Base64, and what the payment says of its resource. */
const BODY_BYTES_MAX = 256 * 1024
const BODIES_BYTES_MAX = 32 * 1024 * 1024
const RETRY_AFTER_SECONDS = 5

export function facilitatorRestApp(rest: FacilitatorRest): Koa {
  const { facilitator, catalogue, metrics } = rest
  const bodies = new BodyBudget(BODIES_BYTES_MAX)
  const router = new Router({ sensitive: true, strict: true })
  router.get('/supported', ctx => {
    ctx.body = facilitator.supported()
  })
  router.post('/verify', async ctx => {
    const { payload, requirements } = await questionIn(ctx, 'verify', rest, bodies)
    const answer = await facilitator.verify(payload, requirements)
    metrics.answered('verify', answer.isValid ? 'valid' : answer.invalidReason!)
    ctx.body = answer
  })
  router.post('/settle', async ctx => {
    const { payload, requirements } = await questionIn(ctx, 'settle', rest, bodies)
    const answer = await facilitator.settle(payload, requirements, askerIn(ctx))
    metrics.answered('settle', answer.success ? 'settled' : answer.errorReason!)
    // Only what was paid for is listed: a verification costs its asker nothing.
    if (answer.success && isListed(rest, payload, requirements)) {
      ctx.set('EXTENSION-RESPONSES', encodeHeader({ bazaar: { status: 'success' } }))
    }
    ctx.body = answer
  })
  router.get('/discovery/resources', ctx => {
    ctx.body = catalogue.list(new URLSearchParams(ctx.querystring))
  })
  router.get('/health', async ctx => {
    admitToOperations(ctx.req, rest.operationsHosts)
    ctx.body = { ok: true, sponsor: facilitator.sponsor, ...(await facilitator.check()) }
  })
  router.get('/metrics', async ctx => {
    admitToOperations(ctx.req, rest.operationsHosts)
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
      if (status === 503 && headers.length === 0) ctx.set('Retry-After', String(RETRY_AFTER_SECONDS))
      ctx.status = status
      ctx.body = errorBody(code, message)
    }
  }
}

function refusalOf(error: unknown, logger: Logger): HttpError {
  if (error instanceof HttpError) return error
  if (error instanceof SvcError && error.status !== undefined) {
    return new HttpError(error.status, error.code, error.message)
  }
  logger.error({ err: error }, 'a question broke the facilitator’s own code')
  return new HttpError(500, 'internal_error', 'Something broke on our side.')
}

async function questionIn(ctx: Context, operation: Operation, rest: FacilitatorRest, bodies: BodyBudget) {
  const request = new NodeRequest(ctx)
  const address = clientAddressOf(request, rest.trustProxyHops)
  // Counted apart: whoever verifies too much can still settle what was served.
  const verdict = await rest.rateLimit.take(`${operation}:${address}`, rest.perMinute)
  if (!verdict.admitted) {
    request.skipBody()
    const seconds = String(Math.ceil(verdict.retryAfterMs / 1_000))
    throw new HttpError(429, 'rate_limited', 'Too many questions from this address.', [
      'Retry-After',
      seconds,
    ])
  }
  const share = bodies.open()
  try {
    const body = await request.readBody({ bytesMax: BODY_BYTES_MAX }, share)
    if (body.kind === 'malformed') throw new HttpError(400, 'invalid_json', body.why)
    const { paymentPayload: payload, paymentRequirements: requirements } =
      body.kind === 'read' && isRecord(body.value) ? body.value : {}
    if (isRecord(payload) && isRecord(requirements)) return { payload, requirements }
    throw new HttpError(
      400,
      'invalid_request',
      'The body has the objects paymentPayload and paymentRequirements.',
    )
  } finally {
    share.close()
  }
}

const ASKER_ID = /^[\w-]{16,64}$/

/** `undefined` for servers that are not ours. */
function askerIn(ctx: Context): Asker | undefined {
  const id = ctx.get(ASKER_HEADER)
  return ASKER_ID.test(id) ? { id, inProcess: false } : undefined
}

/** The payment is settled, whatever its description is. */
function isListed({ catalogue }: FacilitatorRest, payload: unknown, requirements: unknown): boolean {
  try {
    return catalogue.add(payload, requirements)
  } catch {
    return false
  }
}
