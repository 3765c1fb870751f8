/** Who may read what is not for everybody: metrics, the last calls, the audit page. Paid routes are for every page; these are not. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { isLoopback } from '../../domain/caller-ip-network.js'
import { httpErrorOf } from './reply.js'
import type { FreeRoute, HostRequest } from './route.js'

/** Pages of other sites are never among them. */
export type Readers =
  /** Programs on the inner network, by any address or inner name; and by the public names that the seller lists. */
  | { readonly are: 'onInnerNetwork'; readonly publicHosts: ReadonlySet<string> }
  /** Clients on this machine, by a name of this machine and through no proxy. */
  | { readonly are: 'onThisMachine' }
  /** Clients that present the token, from anywhere. */
  | { readonly are: 'holdersOf'; readonly token: string }

export function privateRoute(path: string, readers: Readers, answer: FreeRoute['handle']): FreeRoute {
  return {
    path,
    method: 'GET',
    sameOrigin: true,
    headers: PRIVATE,
    handle(request) {
      admitReader(request, readers)
      return answer(request)
    },
  }
}

const PRIVATE = Object.freeze([
  ...['Cache-Control', 'no-store'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['X-Content-Type-Options', 'nosniff'],
])

export function admitReader(request: Pick<HostRequest, 'headers' | 'address'>, readers: Readers): void {
  const { headers } = request
  const code = readers.are === 'onInnerNetwork' ? 'operations_forbidden' : 'audit_forbidden'
  if (isOfOtherSite(headers)) throw httpErrorOf(code)
  if (readers.are === 'holdersOf') {
    if (holdsToken(headers.authorization, readers.token)) return
    throw httpErrorOf('audit_token_required', ['WWW-Authenticate', 'Basic realm="audit", charset="UTF-8"'])
  }
  const isReader =
    readers.are === 'onThisMachine'
      ? isOnThisMachine(request)
      : isOnInnerNetwork(headers, readers.publicHosts)
  if (!isReader) throw httpErrorOf(code)
}

/**
 * A link may lead here from anywhere; a script, an image or a frame of another site may not. Programs send neither header.
 * Browsers send Origin with every request whose answer a script of another site may read.
 */
function isOfOtherSite(headers: IncomingHttpHeaders): boolean {
  const { origin, host, 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers
  if (site !== 'same-origin' && site !== 'none' && mode !== 'navigate') return true
  if (origin === undefined) return false
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase()
}

/** Names that public DNS never resolves: RFC 6761, 6762, 8375, ICANN's `internal`, and Kubernetes' own. */
const INNER_NAME = /(^[^.]+|\.(localhost|local|internal|home\.arpa|svc|svc\.cluster\.local))$/

/** A name that an attacker points to this machine is public. An IP address was typed by a person. Every browser sends a host. */
function isOnInnerNetwork(headers: IncomingHttpHeaders, publicHosts: ReadonlySet<string>): boolean {
  // If a proxy puts an inner name into Host, the second header has the name that the caller used.
  return [headers.host, headers['x-forwarded-host']].flat().every(host => {
    if (!host) return true
    const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
    return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || INNER_NAME.test(name) || publicHosts.has(name)
  })
}

/** A request with one of these headers comes through a proxy, so its caller may be anywhere. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const

function isOnThisMachine({ address, headers }: Pick<HostRequest, 'headers' | 'address'>): boolean {
  return (
    isLoopback(address ?? '') &&
    // If another site's name is made to point to this machine, the browser still sends that site's name.
    isLoopback((headers.host ?? '').replace(/:\d+$/, '')) &&
    FORWARDING.every(name => headers[name] === undefined)
  )
}

/**
 * Whether a header `Authorization` holds this token, as `Bearer <token>` or in the form that browsers send: any user name, with
 * the token as the password. Compares hashes, which have one length: neither the token's length nor the position of a difference
 * affects the time.
 */
export function holdsToken(authorization: string | undefined, token: string): boolean {
  const [a, b] = [presentedIn(authorization), token].map(text => createHash('sha256').update(text).digest())
  return timingSafeEqual(a!, b!)
}

function presentedIn(authorization = ''): string {
  const [scheme = '', value = ''] = authorization.split(' ', 2)
  if (scheme.toLowerCase() === 'bearer') return value
  if (scheme.toLowerCase() !== 'basic') return ''
  const pair = Buffer.from(value, 'base64').toString('utf8')
  return pair.slice(pair.indexOf(':') + 1)
}
