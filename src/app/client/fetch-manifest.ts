/** Reads an agent's manifest. Everything in it is the agent's claim: data, never an instruction. */
import { SdkError } from '../../domain/errors.js'
import type { Manifest } from '../../domain/manifest.js'
import { isForWindow } from '../../domain/price-for-display.js'
import { isRecord, type PaymentRequired } from '../../domain/x402.js'
import { type HttpRequest, requestOf } from './build-request.js'
import { type HttpReply, recordOf } from './http-reply.js'
import { resourceIn } from './read-quote.js'
import { type AskingDeps, ask, askBriefly, succeeded } from './send-with-retries.js'

const MANIFEST_PATH = '/.well-known/svc.json'

export function manifestUrl(base: URL): URL {
  const { origin, pathname } = base
  const path = pathname.replace(/\/+$/, '')
  return new URL(origin + (path.endsWith(MANIFEST_PATH) ? path : path + MANIFEST_PATH))
}

export function manifestOf(reply: HttpReply, url: URL): Manifest {
  const value = recordOf(reply)
  const { name, handle, network, payTo, endpoints } = value ?? {}
  const texts = [name, handle, network, payTo].every(text => typeof text === 'string')
  if (!value || !texts || !Array.isArray(endpoints) || !endpoints.every(isEndpoint))
    throw new SdkError(`${url.href} is not a manifest`, 'invalid_manifest', reply.status, value)
  return value as unknown as Manifest
}

export async function discover(
  base: URL,
  { signal }: Pick<HttpRequest, 'signal'>,
  deps: AskingDeps,
): Promise<Manifest> {
  const url = manifestUrl(base)
  return manifestOf(succeeded(await askBriefly(deps, manifestRequest(url, signal))).reply, url)
}

function manifestRequest(url: URL, signal: AbortSignal | undefined): HttpRequest {
  return requestOf(url, undefined, { method: 'GET', signal })
}

function isEndpoint(value: unknown): boolean {
  return (
    isRecord(value) &&
    [value.name, value.url, value.method, value.price].every(text => typeof text === 'string')
  )
}

const MANIFEST_TIMEOUT_MS = 5_000

/**
 * Whether an agent sells single calls where a window is asked for. A quote of the specification's own fields does not say what it
 * sells, so the manifest is asked, which costs nothing. Only `subscribe` asks, and only at such a quote.
 */
export async function isSoldByTheCall(
  { url, signal }: HttpRequest,
  challenge: PaymentRequired,
  deps: AskingDeps,
): Promise<boolean> {
  // Where one entry has a period, the others sell single calls.
  if ((challenge.accepts as readonly unknown[]).some(isForWindow)) return true
  const at = manifestUrl(new URL(url.origin))
  const once = { ...deps, retry: { ...deps.retry, attempts: 1 }, timeoutMs: MANIFEST_TIMEOUT_MS }
  try {
    const asked = await ask(once, manifestRequest(at, signal))
    const { endpoints } = manifestOf(succeeded(asked).reply, at)
    const named = [resourceIn(challenge), url.origin + url.pathname]
    const sold = endpoints.filter(endpoint => named.includes(endpoint.url))
    return sold.some(({ pricing }) => pricing === 'fixed' || pricing === 'dynamic')
  } catch {
    // A seller without a manifest says nothing. An abort ends the purchase that follows.
    return false
  }
}
