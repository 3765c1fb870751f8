/** Requests to the examined agent, as an index and a page of another origin send them. Nothing is paid, no redirect is followed. */
import { exchangeOver, type HttpReply, recordOf } from '../app/client/http-reply.js'
import { wakefulClock } from '../ports/clock.js'
import { quoted } from './finding.js'

/** Where the requests seem to come from: CORS is asked for by pages of other origins. */
const ORIGIN = 'https://index.example'
const TIMEOUT_MS = 10_000

export type Asked = { readonly reply: HttpReply } | { readonly why: string }

export async function request(
  url: URL,
  method: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  const sent = await exchangeOver(undefined, wakefulClock)(
    { url, method, headers: { origin: ORIGIN, ...headers } },
    TIMEOUT_MS,
  )
  if (sent.kind === 'lost') return { why: `${url.origin} did not answer (${sent.cause})` }
  const { reply } = sent
  return reply.location === undefined ? { reply } : { why: `it redirects to ${quoted(reply.location)}` }
}

/** The JSON object that a URL answers with status 200 and a content type of JSON. */
export async function jsonAt(
  url: URL,
): Promise<{ readonly found: Record<string, unknown> } | { readonly why: string }> {
  const asked = await request(url, 'GET', { accept: 'application/json' })
  if ('why' in asked) return asked
  const { reply } = asked
  if (reply.status !== 200) return { why: `it answers ${reply.status}` }
  const type = reply.headers.get('content-type') ?? 'nothing'
  if (!/^application\/([^;]+\+)?json\b/i.test(type)) return { why: `it is called ${quoted(type)}, not JSON` }
  const found = reply.oversized ? undefined : recordOf(reply)
  return found ? { found } : { why: 'it is no JSON object' }
}

export function isAllowedOrigin(value: string | null): boolean {
  return value === '*' || value === ORIGIN
}
