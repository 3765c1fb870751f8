/**
 * Who may read metrics and runs: programs on the inside, by whichever address or inner name they use, and nobody by a
 * public name that the seller has not listed. A browser can be led here under a foreign name that was made to point at this
 * machine; the name is the attacker's own, so it is public, and stands in the Host.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { HttpError } from '../errors.js'
import { isForeignScript } from './private-route.js'

/** Names that public DNS never answers for: RFC 6761, 6762, 8375, ICANN's `internal`, and Kubernetes' own. */
const INNER_NAME = /(^[^.]+|\.(localhost|local|internal|home\.arpa|svc|svc\.cluster\.local))$/

export type Hosts = ReadonlySet<string>

/** @throws HttpRefusal */
export function admitToOperations({ headers }: IncomingMessage, hosts: Hosts): void {
  if (isForeignScript(headers) || isForeignOrigin(headers.origin, headers.host)) {
    throw refused('Other sites’ pages may not read this.')
  }
  // A proxy that puts an inner name into Host says here which one the caller used.
  for (const host of [headers.host, headers['x-forwarded-host']].flat()) {
    if (!isAllowed(host, hosts)) throw refused('This is not for a public name. `operationsHosts` allows it.')
  }
}

function refused(message: string): HttpError {
  return new HttpError(403, 'operations_forbidden', message)
}

/** Programs send no Origin. Browsers do with whatever a script may read. */
function isForeignOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return false
  return !URL.canParse(origin) || new URL(origin).host !== host?.toLowerCase()
}

/** Every browser names a host. An address in it was typed or configured: no name was made to point at it. */
function isAllowed(host: string | undefined, hosts: Hosts): boolean {
  if (!host) return true
  const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || INNER_NAME.test(name) || hosts.has(name)
}
