/** The audit page, its stream of events, and the remembered calls as JSON lines. */
import { Readable } from 'node:stream'
import { HttpError } from '../error-to-reply.js'
import type { Reply } from '../reply.js'
import type { FreeRoute, HostRequest } from '../route-types.js'
import { admitToAudit } from './audit-page-access.js'
import { privateRoute } from './private-route.js'

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
  return [
    guarded('/_svc/audit', token, () => {
      const headers = ['Content-Security-Policy', page.policy, 'Content-Type', 'text/html; charset=utf-8']
      return { status: 200, headers, body: page.html }
    }),
    guarded('/_svc/audit/events', token, request => watch(request, feed)),
    guarded('/_svc/audit/runs.jsonl', token, () => {
      return {
        status: 200,
        headers: ['Content-Type', 'application/jsonl'],
        body: { chunks: Readable.from(feed.lines()) },
      }
    }),
  ]
}

function guarded(
  path: string,
  token: string | undefined,
  answer: (request: HostRequest) => Reply,
): FreeRoute {
  return privateRoute(path, request => admitToAudit(request, token), answer)
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
