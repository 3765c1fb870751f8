/**
 * A fetch for addresses that strangers name: it connects to public addresses only. The address is judged where the
 * connection is made, after the name was resolved, so a name that resolves to the inside, now or a moment later, reaches
 * nothing. Redirects are for the caller to refuse.
 */
import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, fetch as undiciFetch } from 'undici'

/** Everything that is not the public internet (IANA's special-purpose registries). */
const INSIDE: readonly (readonly [net: string, prefix: number, family: 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
]

const inside = new BlockList()
for (const [net, prefix, family] of INSIDE) inside.addSubnet(net, prefix, family)
const globalIpv6 = new BlockList()
globalIpv6.addSubnet('2000::', 3, 'ipv6')
/** Global by number, and yet a way to any IPv4 address (6to4, Teredo), or an example. */
const tunnels = new BlockList()
tunnels.addSubnet('2002::', 16, 'ipv6')
tunnels.addSubnet('2001::', 32, 'ipv6')
tunnels.addSubnet('2001:db8::', 32, 'ipv6')

export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, '')
  switch (isIP(bare)) {
    case 4:
      return !inside.check(bare, 'ipv4')
    case 6:
      return globalIpv6.check(bare, 'ipv6') && !tunnels.check(bare, 'ipv6')
    default:
      return false
  }
}

const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    const open = addresses.filter(({ address }) => isPublicAddress(address))
    if (open.length === 0) return callback(new Error(`${hostname} has no public address`), '', 0)
    if (options.all) return callback(null, open)
    callback(null, open[0]!.address, open[0]!.family)
  })
}

export const publicFetch: typeof fetch = async (input, init) => {
  const { hostname } = new URL(String(input instanceof Request ? input.url : input))
  // No name is looked up for an address, so it is judged here.
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 && !isPublicAddress(hostname)) {
    throw new TypeError(`${hostname} is no public address`)
  }
  const dispatcher = new Agent({ connect: { lookup: publicLookup }, pipelining: 0 })
  const response = await undiciFetch(input as string, { ...(init as object), dispatcher })
  return response as unknown as Response
}
