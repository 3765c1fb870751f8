/**
 * Who may talk to the sandbox: programs and pages of this machine. It listens on loopback only, but a browser on
 * this machine brings pages of the web along: they reach the sandbox under its address, or under a name of their own that
 * they have pointed here (DNS rebinding). The first say their own Origin, the others their own Host.
 */
import type { IncomingHttpHeaders } from 'node:http'

export interface Foreign {
  readonly code: 'foreign_host' | 'foreign_origin'
  readonly message: string
}

/**
 * Why a request is refused, or `undefined`.
 *
 * @param sameOrigin Whether pages of other ports are refused, too.
 */
export function foreign(
  { host = '', origin }: IncomingHttpHeaders,
  sameOrigin: boolean,
): Foreign | undefined {
  const own = loopbackOrigin(`http://${host}`)
  if (own === undefined) {
    return {
      code: 'foreign_host',
      message: 'The Host is no name of this machine: use localhost or 127.0.0.1',
    }
  }
  if (origin === undefined) return undefined
  const page = loopbackOrigin(origin)
  if (page === undefined) {
    return { code: 'foreign_origin', message: 'Only pages of this machine may use the sandbox' }
  }
  if (!sameOrigin || page === own) return undefined
  return {
    code: 'foreign_origin',
    message: 'Only programs and pages of the sandbox’s own origin may control it',
  }
}

/** Where the text is an origin of this machine: a scheme, a host and perhaps a port, and nothing else. */
function loopbackOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && url.href === `${url.origin}/` && isLoopback(url.hostname) ? url.origin : undefined
}

/** As URLs spell them: an IPv4 address has four numbers by then, however it was written. */
function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]') return true
  return /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
