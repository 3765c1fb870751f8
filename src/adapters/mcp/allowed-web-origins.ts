/** Decides which web pages may call MCP. Programs other than browsers send no Origin, and are not checked. */
import { isIP } from 'node:net'
import type { IncomingRequest } from '../../ports/transport.js'

/**
 * The reason for a refusal, or `undefined`. A page may call from the agent's own origin, or from this machine (an
 * inspector). If a browser on the server's own machine uses a foreign name for the agent, an attacker made that name
 * point to this server. Then the browser's "own origin" is the attacker's.
 */
export function webOriginRefusal({ headers, baseUrl, clientAddress }: IncomingRequest): string | undefined {
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
