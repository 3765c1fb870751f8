/** Which URLs payments may be sent to. */
import { BlockList, isIP } from 'node:net'
import { SvcError } from '../../domain/errors.js'

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
