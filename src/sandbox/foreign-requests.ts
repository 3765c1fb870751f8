/**
 * Refuses requests that are not from programs or pages of this machine. The sandbox listens on loopback only, but a browser on
 * this machine also runs pages of the web. They reach the sandbox by its address, or by a host name of their own that resolves
 * to it (DNS rebinding). The first send their own Origin, the others their own Host.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '../domain/caller-ip-network.js'
import { SvcError } from '../domain/errors.js'

/** @param sameOrigin Whether pages of other ports are refused too. */
export function foreign({ host = '', origin }: IncomingHttpHeaders, sameOrigin: boolean) {
  const own = loopbackOrigin(`http://${host}`)
  if (own === undefined)
    return refused('foreign_host', 'The Host is no name of this machine: use localhost or 127.0.0.1')
  if (origin === undefined) return undefined
  const page = loopbackOrigin(origin)
  if (page === undefined) return refused('foreign_origin', 'Only pages of this machine may use the sandbox')
  if (!sameOrigin || page === own) return undefined
  return refused('foreign_origin', 'Only programs and pages of the sandbox’s own origin may control it')
}

function refused(code: 'foreign_host' | 'foreign_origin', message: string): SvcError {
  return new SvcError(message, code, 403)
}

function loopbackOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && url.href === `${url.origin}/` && isLoopback(url.hostname) ? url.origin : undefined
}
