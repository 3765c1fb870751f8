/** The caller's address, and the URL by which the caller reaches this server, as far as headers can be trusted. */
import { isIP } from 'node:net'
import { NO_ADDRESS } from '../../ports/charge.js'
import type { HostRequest } from './route-types.js'

/** A DNS name or an IP address, and an optional port. Other header content is never copied into a URL. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** The URL by which this caller reaches this server: the origin, and the prefix at which another app mounts it. */
export function rootOf(request: HostRequest): string {
  return originOf(request) + request.mountedAt
}

/** Scheme and host, from a proxy's forwarded headers if there are any. The result always parses as the origin of a URL. */
function originOf({ headers, scheme: own, localHost }: HostRequest): string {
  const proto = firstOf(headers['x-forwarded-proto'])?.toLowerCase()
  const scheme = proto === 'http' || proto === 'https' ? proto : own
  return (
    webOrigin(scheme, headers['x-forwarded-host']) ??
    webOrigin(scheme, headers.host) ??
    `${scheme}://${localHost}`
  )
}

/** The connection's address. Behind `trustProxyHops` proxies, the address that the outermost of them saw. */
export function clientAddressOf(
  { headers, address = NO_ADDRESS }: Pick<HostRequest, 'headers' | 'address'>,
  trustProxyHops: number,
): string {
  if (trustProxyHops === 0) return address
  const forwarded = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map(part => part.trim())
  const seen = forwarded.at(-trustProxyHops)
  return seen !== undefined && isIP(seen) !== 0 ? seen : address
}

function firstOf(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header[0] : header
  return text?.includes(',') ? text.slice(0, text.indexOf(',')).trim() : text?.trim()
}

/** More hosts than a real deployment has. Forged ones cannot grow the memory beyond it. */
const HOSTS_MAX = 64
/** A cache of parsed headers: parsing one takes 0.7 µs, a fortieth of an unpaid request. */
const known = new Map<string, string | undefined>()

/** `undefined` for a header whose host a URL cannot have: a port above 65535, five numbers, an invalid IPv6 address. */
function webOrigin(scheme: string, header: string | string[] | undefined): string | undefined {
  const host = firstOf(header)
  if (host === undefined || !HOST.test(host)) return undefined
  const text = `${scheme}://${host}`
  if (known.has(text)) return known.get(text)
  const origin = URL.canParse(text) ? new URL(text).origin : undefined
  if (known.size >= HOSTS_MAX) known.clear()
  known.set(text, origin)
  return origin
}
