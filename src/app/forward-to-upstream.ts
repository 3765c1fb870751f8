/** Forwards a request to a server behind this one, and makes an answer of what comes back: what is behind `upstream` and `free`. */
import { stringify } from 'node:querystring'
import { exchangeWithUpstream, type UpstreamRequest } from '../adapters/outbound/upstream-exchange.js'
import { type BodyType, MEDIA_TYPE } from '../domain/body-type.js'
import type { EndpointDef } from '../domain/endpoint.js'
import type { EndpointLimits } from '../domain/endpoint-limits.js'
import { SvcError } from '../domain/errors.js'
import { ForwardedAnswer, type Handler } from '../domain/handler.js'
import type { Method } from '../domain/path-pattern.js'
import {
  type ForwardedRequest,
  headersFromUpstream,
  headersToUpstream,
  isStreamedType,
  type UpstreamOptions,
  type UpstreamUrl,
  upstreamUrl,
} from '../domain/upstream.js'
import { NO_ADDRESS } from '../ports/charge.js'
import { madeOf } from './charge/make-handler-context.js'
import { NoAnswer, renderHead } from './charge/render-answer.js'
import { COLLECTED_BYTES_MAX } from './charge/stream-from-handler.js'

interface Options extends UpstreamOptions, EndpointLimits, Pick<EndpointDef, 'name' | 'methods' | 'input'> {
  readonly method?: Method
  readonly bodyType?: BodyType
}

/** Handlers that were made here. A checked endpoint has its upstream and its handler, and not the `bodyType: 'json'` that was given. */
const made = new WeakMap<object, BodyType | undefined>()

/** The endpoint with the handler that its upstream needs; any other as it is. Its checks come later, so that nothing is certain of it. */
export function withUpstream<Given extends object>(given: Given): Given {
  const options = given as Options & { readonly handler?: Handler }
  const { name, upstream, input, method = 'POST', methods = method, handler } = options
  if (upstream === undefined) return given
  const refuse = (why: string): never => {
    throw new SvcError(`Endpoint '${name}': ${why}`, 'invalid_endpoint')
  }
  if (handler !== undefined && !made.has(handler)) refuse('give one of handler and upstream')
  const isGet = [methods].flat().every(each => each === 'GET')
  const said = options.bodyType ?? (handler && made.get(handler))
  const bodyType = said ?? (input === undefined && !isGet ? 'bytes' : 'json')
  const own = upstreamHandler({ ...options, bodyType }, refuse)
  made.set(own, said)
  return { ...given, bodyType, handler: own }
}

function upstreamHandler(
  { upstream, stream, sellRedirects, bodyType = 'json' }: Options,
  refuse: (why: string) => never,
): Handler {
  const send = forwarder(upstreamUrl(upstream, refuse), {
    isSold: status => status !== 206 && status !== 304 && (sellRedirects === true || status < 300),
    isStream: ({ status, headers }) => status < 400 && (stream ?? isStreamedType(headers['content-type'])),
  })
  return context => {
    const { payment, idempotencyKey, query } = context
    const { request, cancellation } = madeOf(context)
    const { target, headers, clientAddress, baseUrl } = request
    const { method, path, search } = target!
    const isGet = method === 'GET'
    // A message of another protocol has no query of its own, and its headers are not about this request.
    const isMessage = search === undefined
    const asked = isMessage && isGet ? `?${stringify(query as NodeJS.Dict<string>)}` : search
    // What was checked is what is sent: a body may be read in two ways.
    const body = bodyType === 'json' && !isGet ? JSON.stringify(context.body) : context.body
    const typed = isMessage || bodyType === 'json' ? { 'content-type': SENT_AS[bodyType] } : undefined
    return send({
      method,
      target: path + (asked ?? ''),
      headers: isMessage ? { ...typed, accept: '*/*' } : typed && !isGet ? { ...headers, ...typed } : headers,
      body: isGet ? null : (body as Uint8Array | string),
      baseUrl,
      clientAddress: clientAddress === NO_ADDRESS ? undefined : clientAddress,
      payer: payment.payer,
      txId: payment.txId,
      idempotencyKey,
      charge: context.charge,
      onGone: listener => cancellation.onCancel(listener),
    })
  }
}

const SENT_AS = { ...MEDIA_TYPE, text: 'text/plain; charset=utf-8' }
const OF_READERS = /^access-control-|-control$|^x-accel-expires$/
export interface SentRequest extends ForwardedRequest {
  /** A stream is sent as it comes. */
  readonly body: UpstreamRequest['body'] | null
  /** Hears what the answer says that it cost. */
  charge?(usd: string): void
  /** Calls back where nobody waits for the answer any more. */
  onGone(listener: () => void): void
}

/** What passes back. Without a rule everything does, and every body as it comes. */
interface Rules {
  isSold?(status: number): boolean
  isStream?: UpstreamRequest['isStream']
}

export function forwarder(
  { origin, target: ownTarget }: UpstreamUrl,
  { isSold, isStream = () => true }: Rules = {},
) {
  return async ({ body, charge, onGone, ...request }: SentRequest): Promise<ForwardedAnswer> => {
    const asked = {
      origin,
      path: ownTarget ?? request.target,
      method: request.method,
      headers: headersToUpstream(request, isSold !== undefined),
      body: (body as { readonly length?: number } | null)?.length === 0 ? null : body,
      bytesMax: COLLECTED_BYTES_MAX,
      isStream,
    }
    const { status, headers, body: received } = await exchangeWithUpstream(asked, onGone)
    const isStreamed = !(received instanceof Uint8Array)
    try {
      // A stock client would pay that quote, and take it for this server's.
      if (status === 402) throw notSold('asks to be paid itself (402)')
      if (status < 400 && isSold?.(status) === false)
        throw notSold(`answered with ${status}, which is not sold`)
      const cost = headers['x-svc-charge']
      if (status < 400 && cost !== undefined) charge?.(String(cost))
      const pairs = headersFromUpstream(headers)
      const head = { status, ...renderHead(pairs) }
      // Which pages may read what is not sold, and which caches keep it, its own server says.
      const ofReaders = pairs.filter(([name]) => isSold === undefined && OF_READERS.test(name))
      Object.assign(head.headers, Object.fromEntries(ofReaders))
      return isStreamed
        ? new ForwardedAnswer({ body: '', ...head }, received)
        : new ForwardedAnswer({ body: received, ...head })
    } catch (cause) {
      if (isStreamed) received.end()
      throw cause instanceof NoAnswer ? notSold(`sent ${cause.message}`) : cause
    }
  }
}

function notSold(why: string): SvcError {
  return new SvcError(`The server behind this one ${why}. You were not charged.`, 'upstream_not_sold', 502)
}
