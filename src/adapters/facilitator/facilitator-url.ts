/**
 * Which addresses payments may be sent to. A signed payment on plain http across a public network could be read and
 * withheld on the way, and the answer "settled" could be forged: free work for whoever sits there.
 */
import { BlockList, isIP } from 'node:net'
import { SvcError } from '../../domain/errors.js'

const LOCAL = new BlockList()
LOCAL.addSubnet('127.0.0.0', 8, 'ipv4')
LOCAL.addSubnet('10.0.0.0', 8, 'ipv4')
LOCAL.addSubnet('172.16.0.0', 12, 'ipv4')
LOCAL.addSubnet('192.168.0.0', 16, 'ipv4')
LOCAL.addAddress('::1', 'ipv6')
LOCAL.addSubnet('fc00::', 7, 'ipv6')

/** @throws SvcError `invalid_facilitator` for anything but https, or http to a host that is not public. */
export function facilitatorUrl(text: string, options: { readonly allowHttp?: boolean } = {}): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalid('The facilitator must be an http(s) URL', text)
  // Both would be lost or printed: paths are appended to the URL, and health shows it to everybody.
  if (url.username || url.password || url.search || url.hash)
    throw invalid('The facilitator URL must not carry credentials, a query or a fragment', url.host)
  if (url.protocol === 'http:' && !options.allowHttp && !isLocal(url.hostname))
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
