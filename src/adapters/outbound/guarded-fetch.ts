/**
 * For URLs of strangers: it connects to public addresses only. The check is part of connecting: of a host name it checks the address
 * that the connection uses, so a name that resolves to a private address a moment later reaches nothing.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { buildConnector } from 'undici'
import { loadOnce } from '../../domain/load-once.js'
import { resumingFetch } from './paused-replies.js'

/** As `dns.lookup` with `all: true`. */
export type Lookup = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

export interface ConnectorOptions {
  /** Whether an IP address may be connected to. @default isPublicAddress */
  readonly isAllowed?: (address: string) => boolean
  readonly timeoutMs: number
  readonly lookup?: Lookup
}

/** Why there is no connection: the address is not public, or the port is no web service's. */
export class NotPublic extends Error {
  constructor(
    readonly reason: 'address' | 'port',
    message: string,
  ) {
    super(message)
  }
}

/** Ports of web services. The other ports below 1024 are of mail, shells and databases. */
const LOW_PORTS: ReadonlySet<number> = new Set([80, 443])
const LOW_PORT_MAX = 1_023

const CONNECT_TIMEOUT_MS = 10_000

const opened = loadOnce(async () => {
  const { Agent, buildConnector, fetch: send } = await import('undici')
  const connect = guardedConnector(buildConnector, { timeoutMs: CONNECT_TIMEOUT_MS })
  return resumingFetch(send as unknown as typeof fetch, new Agent({ connect, pipelining: 0 }))
})

/** The caller must refuse redirects. Each one is checked when it connects, but another host chose its URL. */
export const guardedFetch: typeof fetch = async (input, init) => (await opened())(input, init)

/** `build` is undici's `buildConnector`: to load undici takes 0.1 s of CPU, and most programs never get here. */
export function guardedConnector(
  build: typeof buildConnector,
  { isAllowed = isPublicAddress, timeoutMs, lookup = systemLookup }: ConnectorOptions,
): buildConnector.connector {
  const connect = build({ timeout: timeoutMs, lookup: guardedLookup(lookup, isAllowed) })
  return (options, callback) => {
    const refusal = addressRefusal(options.hostname, isAllowed) ?? portRefusal(options)
    if (refusal) return callback(refusal, null)
    connect(options, (error, socket) => {
      if (error) return callback(error, null)
      // The final check: this is the address that the bytes would go to, whatever the look-up returned.
      const { remoteAddress = '' } = socket
      if (isAllowed(remoteAddress)) return callback(null, socket)
      socket.destroy()
      callback(inside(options.hostname), null)
    })
  }
}

/** An address needs no look-up, so it is checked here. */
function addressRefusal(hostname: string, isAllowed: (address: string) => boolean): NotPublic | undefined {
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) !== 0 && !isAllowed(host) ? inside(host) : undefined
}

function portRefusal({ port, protocol }: buildConnector.Options): NotPublic | undefined {
  const number = Number(port || (protocol === 'https:' ? 443 : 80))
  if (number <= LOW_PORT_MAX && !LOW_PORTS.has(number))
    return new NotPublic('port', `port ${number} is no web service's: 80, 443, or from ${LOW_PORT_MAX + 1}`)
}

function guardedLookup(lookup: Lookup, isAllowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0)
      // One private address among public ones is enough to refuse: no public service has one.
      const refused = addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))
      if (refused) return callback(inside(hostname), '', 0)
      if (options.all) return callback(null, addresses)
      callback(null, addresses[0]!.address, addresses[0]!.family)
    })
  }
}

function inside(host: string): NotPublic {
  return new NotPublic('address', `${host} is not on the public internet`)
}

/** The special-purpose addresses of IPv4, and multicast. @see https://www.iana.org/assignments/iana-ipv4-special-registry/ */
const SPECIAL_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carriers' NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, clouds' metadata among them
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT relays
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
]

/** The routed block. Mapped, NAT64, unique-local, link-local and multicast addresses are outside it. */
const GLOBAL_IPV6 = ['2000::/3']

/** Inside the routed block, but not public: documentation, and tunnels that lead to any IPv4 address. */
const SPECIAL_IPV6 = [
  '2001::/23', // Teredo, benchmarks, ORCHID and other protocol assignments
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const specialIpv4 = listOf(SPECIAL_IPV4, 'ipv4')
const globalIpv6 = listOf(GLOBAL_IPV6, 'ipv6')
const specialIpv6 = listOf(SPECIAL_IPV6, 'ipv6')

/** False for text that is no IP address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, 'ipv4')
    case 6:
      // A zone names an interface of this machine.
      return (
        !address.includes('%') && globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
      )
    default:
      return false
  }
}

function listOf(blocks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const block of blocks) {
    const [net, prefix] = block.split('/')
    list.addSubnet(net!, Number(prefix), family)
  }
  return list
}
