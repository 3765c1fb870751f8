/**
 * For URLs of strangers: it connects to public addresses only. The check is part of connecting: of a host name it checks the address
 * that the connection uses, so a name that resolves to a private address a moment later reaches nothing.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { buildConnector } from 'undici'
import { loadOnce } from '../../domain/load-once.js'
import { isPublicAddress } from './public-addresses.js'

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
  const { Agent, buildConnector, fetch } = await import('undici')
  const connect = guardedConnector(buildConnector, { timeoutMs: CONNECT_TIMEOUT_MS })
  return { fetch, dispatcher: new Agent({ connect, pipelining: 0 }) }
})

/** The caller must refuse redirects. Each one is checked when it connects, but another host chose its URL. */
export const guardedFetch: typeof fetch = async (input, init) => {
  const { fetch, dispatcher } = await opened()
  const response = await fetch(input as string, { ...(init as object), dispatcher })
  return response as unknown as Response
}

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
  if (number <= LOW_PORT_MAX && !LOW_PORTS.has(number)) {
    return new NotPublic('port', `port ${number} is no web service's: 80, 443, or from ${LOW_PORT_MAX + 1}`)
  }
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
