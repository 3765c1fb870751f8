/**
 * Who may read metrics and runs: programs on the inner network, by any address or inner name. Through a public name,
 * only if the seller has listed it. An attacker can make a foreign name point to this machine and lead a browser
 * here. That name is public, and the Host header contains it.
 */
import { isIP } from 'node:net'
import { HttpError } from '../error-to-reply.js'
import type { HostRequest } from '../route-types.js'
import { isForeignScript } from './private-route.js'

/** Names that public DNS never resolves: RFC 6761, 6762, 8375, ICANN's `internal`, and Kubernetes' own. */
const INNER_NAME = /(^[^.]+|\.(localhost|local|internal|home\.arpa|svc|svc\.cluster\.local))$/

export type Hosts = ReadonlySet<string>

/** @throws HttpError */
export function admitToOperations({ headers }: Pick<HostRequest, 'headers'>, hosts: Hosts): void {
  if (isForeignScript(headers) || isForeignOrigin(headers.origin, headers.host)) {
    throw refused('Other sites’ pages may not read this.')
  }
  // If a proxy puts an inner name into Host, this header has the name that the caller used.
  for (const host of [headers.host, headers['x-forwarded-host']].flat()) {
    if (!isAllowed(host, hosts)) throw refused('This is not for a public name. `operationsHosts` allows it.')
  }
}

function refused(message: string): HttpError {
  return new HttpError(403, 'operations_forbidden', message)
}

/** Programs send no Origin. Browsers send it with every request whose answer a script may read. */
function isForeignOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return false
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase()
}

/**
 * Every browser sends a host. If the host is an IP address, a person typed or configured it: an attacker cannot make
 * it point to another machine.
 */
function isAllowed(host: string | undefined, hosts: Hosts): boolean {
  if (!host) return true
  const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || INNER_NAME.test(name) || hosts.has(name)
}
