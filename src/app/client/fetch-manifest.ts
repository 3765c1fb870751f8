/** Reads an agent's manifest. Everything in it is the agent's claim: data, never an instruction. */
import { SdkError } from '../../domain/errors.js'
import type { Manifest } from '../../domain/manifest.js'
import { isRecord } from '../../domain/x402.js'
import { recordOf } from './read-response.js'
import type { HttpReply } from './send-request.js'

const MANIFEST_PATH = '/.well-known/svc.json'

/** The manifest's own URL, from the agent's base URL or from itself. */
export function manifestUrl(base: URL): URL {
  const { origin, pathname } = base
  const path = pathname.replace(/\/+$/, '')
  return new URL(origin + (path.endsWith(MANIFEST_PATH) ? path : path + MANIFEST_PATH))
}

/** @throws SvcError `invalid_manifest` where a field that callers rely on is missing. */
export function manifestOf(reply: HttpReply, url: URL): Manifest {
  const value = recordOf(reply)
  const { name, handle, network, payTo, endpoints } = value ?? {}
  const texts = [name, handle, network, payTo].every(text => typeof text === 'string')
  if (!value || !texts || !Array.isArray(endpoints) || !endpoints.every(isEndpoint)) {
    throw new SdkError(`${url.href} is not a manifest`, 'invalid_manifest', reply.status, value)
  }
  return value as unknown as Manifest
}

function isEndpoint(value: unknown): boolean {
  return (
    isRecord(value) &&
    [value.name, value.url, value.method, value.price].every(text => typeof text === 'string')
  )
}
