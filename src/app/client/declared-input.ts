/**
 * Whether a quote is for the request that was asked. Indexes ask for prices by GET and without a body, so sellers also quote
 * requests that they refuse once they are paid, and would then hold a signed payment. What an endpoint takes is in its quote, in
 * x402's extension `bazaar`: no field of our own is needed for that, and the quotes of other sellers say it, too.
 */
import { SdkError, type SvcError, shown } from '../../domain/errors.js'
import { isRecord, type PaymentRequired } from '../../domain/x402.js'
import type { HttpRequest } from './build-request.js'

type Asked = Pick<HttpRequest, 'url' | 'method' | 'body'>

/** What `call` throws instead of paying; `undefined` where the quote does not say that the request would be refused. */
export function unfitRequest(asked: Asked, challenge: PaymentRequired): SvcError | undefined {
  const why = mismatchOf(asked, challenge)
  if (why === undefined) return undefined
  const message = `${asked.url.origin} would refuse this request after its payment: ${why}; nothing was paid`
  return new SdkError(message, 'invalid_request', 402, challenge)
}

function mismatchOf({ url, method, body }: Asked, challenge: PaymentRequired): string | undefined {
  const bazaar = isFor(url, challenge) ? recordIn(challenge.extensions, 'bazaar') : undefined
  const declared = recordIn(bazaar, 'info', 'input')
  if (declared?.type !== 'http') return undefined
  if (typeof declared.method === 'string' && declared.method.toUpperCase() !== method.toUpperCase())
    return `it takes ${shown(declared.method)}, and this is a ${method}`
  const parts = recordIn(bazaar, 'schema', 'properties', 'input', 'properties')
  const fields = body === undefined ? requiredOf(recordIn(parts, 'body')) : []
  if (fields.length > 0) return `it needs a body with ${shown(fields.join(', '))}`
  const given = [...url.searchParams.keys()]
  // Sellers also read `ids[]=1` as `ids`, and `filter[name]=x` as `filter`.
  const isGiven = (name: string) => given.some(key => key === name || key.startsWith(`${name}[`))
  const query = requiredOf(recordIn(parts, 'queryParams')).filter(name => !isGiven(name))
  return query.length > 0 ? `its query needs ${shown(query.join(', '))}` : undefined
}

/** Over A2A one address sells many endpoints, and each quote describes the endpoint. */
function isFor({ pathname }: URL, { resource }: PaymentRequired): boolean {
  const url: unknown = isRecord(resource) ? resource.url : undefined
  return typeof url === 'string' && URL.canParse(url) && new URL(url).pathname === pathname
}

function recordIn(value: unknown, ...path: readonly string[]): Record<string, unknown> | undefined {
  const found = path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), value)
  return isRecord(found) ? found : undefined
}

/** Zod lists a property with a default as required: it describes what the handler gets. */
function requiredOf(schema: Record<string, unknown> | undefined): string[] {
  const names: unknown = schema?.required
  if (!Array.isArray(names)) return []
  const hasDefault = (name: string) => 'default' in (recordIn(schema, 'properties', name) ?? {})
  return names.filter(name => typeof name === 'string' && !hasDefault(name))
}
