/** The audit page, its stream of events, and the remembered calls as JSON lines. */
import { Readable } from 'node:stream'
import { privateRoute, type Readers } from '../../adapters/http/private-routes.js'
import { type FreeRoute, type HostRequest, HttpError, type Reply } from '../../adapters/http/route.js'

export interface AuditRoutesOptions {
  readonly page: { readonly html: string; readonly policy: string }
  readonly feed: {
    join(viewer: { write(text: string): boolean; end(): void }): Seat | undefined
    lines(): Iterable<string>
  }
  /** A client that presents the token may look from anywhere. Without a token, only this machine may. */
  readonly token: string | undefined
}

interface Seat {
  drained(): void
  leave(): void
}

export function auditRoutes({ page, feed, token }: AuditRoutesOptions): readonly FreeRoute[] {
  const readers: Readers = token === undefined ? { are: 'onThisMachine' } : { are: 'holdersOf', token }
  return [
    privateRoute('/_svc/audit', readers, () => {
      const headers = ['Content-Security-Policy', page.policy, 'Content-Type', 'text/html; charset=utf-8']
      return { status: 200, headers, body: page.html }
    }),
    privateRoute('/_svc/audit/events', readers, request => watch(request, feed)),
    privateRoute('/_svc/audit/runs.jsonl', readers, () => {
      return {
        status: 200,
        headers: ['Content-Type', 'application/jsonl'],
        body: { chunks: Readable.from(feed.lines()) },
      }
    }),
  ]
}

function watch({ method }: HostRequest, feed: AuditRoutesOptions['feed']): Reply {
  // Without this header, proxies that buffer an answer before they forward it would forward nothing.
  const headers = ['Content-Type', 'text/event-stream', 'X-Accel-Buffering', 'no']
  if (method === 'HEAD') return { status: 200, headers }
  let seat: Seat | undefined
  const stream = new Readable({
    read: () => seat?.drained(),
    destroy(error, done) {
      seat?.leave()
      done(error)
    },
  })
  seat = feed.join({ write: text => stream.push(text), end: () => stream.push(null) })
  if (seat === undefined) {
    throw new HttpError(503, 'audit_busy', 'Too many are watching already.', ['Retry-After', '30'])
  }
  return { status: 200, headers, body: { chunks: stream } }
}
