/**
 * Refuses requests that are not from programs or pages of this machine. The sandbox listens on loopback only, but a browser on
 * this machine also runs pages of the web. They reach the sandbox by its address, or by a host name of their own that resolves
 * to it (DNS rebinding). The first send their own Origin, the others their own Host.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '../domain/caller-ip-network.js'

export interface Foreign {
  readonly code: 'foreign_host' | 'foreign_origin'
  readonly message: string
}

/** @param sameOrigin Whether pages of other ports are refused too. */
export function foreign(
  { host = '', origin }: IncomingHttpHeaders,
  sameOrigin: boolean,
): Foreign | undefined {
  const own = loopbackOrigin(`http://${host}`)
  if (own === undefined)
    return {
      code: 'foreign_host',
      message: 'The Host is no name of this machine: use localhost or 127.0.0.1',
    }
  if (origin === undefined) return undefined
  const page = loopbackOrigin(origin)
  if (page === undefined)
    return { code: 'foreign_origin', message: 'Only pages of this machine may use the sandbox' }
  if (!sameOrigin || page === own) return undefined
  return {
    code: 'foreign_origin',
    message: 'Only programs and pages of the sandbox’s own origin may control it',
  }
}

function loopbackOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && url.href === `${url.origin}/` && isLoopback(url.hostname) ? url.origin : undefined
}
