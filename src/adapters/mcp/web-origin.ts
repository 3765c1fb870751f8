/** Which web pages may speak MCP to us. Programs that are no browsers send no Origin, and are not asked. */
import { isIP } from 'node:net'
import type { IncomingRequest } from '../../ports/transport.js'

/**
 * Why a request is refused, or `undefined`. A page may call from the agent's own origin, or from this machine (an
 * inspector). A browser on the server's own machine that knows the agent by a foreign name has had that name rebound to
 * us: what it believes to be its own origin is not.
 */
export function foreignPage({ headers, baseUrl, clientAddress }: IncomingRequest): string | undefined {
  const { origin } = headers
  if (origin === undefined) return undefined
  const page = URL.canParse(origin) ? new URL(origin) : undefined
  if (!page || (page.protocol !== 'https:' && page.protocol !== 'http:'))
    return 'The Origin is no web origin.'
  const own = new URL(baseUrl)
  if (isLoopback(clientAddress) && !isLoopback(own.hostname)) return 'The Host is not a name of this machine.'
  return page.host === own.host || isLoopback(page.hostname)
    ? undefined
    : 'Pages of this Origin may not call.'
}

function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').replace(/^::ffff:/, '')
  if (name === 'localhost' || name === '::1') return true
  return isIP(name) === 4 && name.startsWith('127.')
}
