/**
 * Who may see the audit page: clients on this machine, or clients with the token. The page is read-only, but not for
 * strangers.
 */
import { holdsToken } from '../bearer-token.js'
import { HttpError } from '../error-to-reply.js'
import type { HostRequest } from '../route-types.js'
import { isForeignScript } from './private-route.js'

const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
/** If another site's name is made to point to this machine, the browser still sends that site's name. */
const LOOPBACK_HOST = /^(localhost|([a-z0-9-]+\.)+localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
/** A request with one of these headers comes through a proxy, so its caller may be anywhere. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const

/** @throws HttpError */
export function admitToAudit(request: HostRequest, token: string | undefined): void {
  if (isForeignScript(request.headers)) throw refused('Other sites’ pages may not read the audit page.')
  if (token === undefined) {
    if (isThisMachine(request)) return
    throw refused(
      'The audit page answers this machine only. `audit: { token }` opens it to whoever holds the token.',
    )
  }
  if (holdsToken(request.headers.authorization, token)) return
  throw new HttpError(401, 'audit_token_required', 'The audit page asks for its token, as the password.', [
    'WWW-Authenticate',
    'Basic realm="audit", charset="UTF-8"',
  ])
}

function refused(message: string): HttpError {
  return new HttpError(403, 'audit_forbidden', message)
}

function isThisMachine({ address, headers }: HostRequest): boolean {
  return (
    LOOPBACK_ADDRESS.test(address ?? '') &&
    LOOPBACK_HOST.test(headers.host ?? '') &&
    FORWARDING.every(name => headers[name] === undefined)
  )
}
