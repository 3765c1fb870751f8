/** Reads the body of a call, whatever its host: once, in its own encoding, up to a limit in bytes. */
import type { Parsed } from '../../domain/parsed.js'
import type { BodyShare } from './body-memory-limit.js'
import { HttpError } from './error-to-reply.js'
import type { BodyReading, HostRequest } from './route-types.js'

const NONE = { kind: 'none' } as const

/** @throws HttpError for a body that cannot be read, or is too large. */
export function readBody(
  request: HostRequest,
  how: BodyReading,
  share: BodyShare,
): Parsed<unknown> | Promise<Parsed<unknown>> {
  if (request.method !== 'POST' || !request.carriesBody) {
    request.skipBody()
    return NONE
  }
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpError(415, 'unsupported_encoding', 'Send the body without a Content-Encoding.')
  }
  return request.readBody(how, share)
}
