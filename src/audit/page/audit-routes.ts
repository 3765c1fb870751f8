import { Readable } from 'node:stream'
import { privateRoute, type Readers } from '../../adapters/http/private-routes.js'
import { httpErrorOf, type Reply } from '../../adapters/http/reply.js'
import type { FreeRoute, HostRequest } from '../../adapters/http/route.js'
import type { Feed, Seat } from './viewer-feed.js'

/** @param token A client that presents it may look from anywhere. Without a token, only this machine may. */
export function auditRoutes(feed: Feed, token: string | undefined): readonly FreeRoute[] {
  const readers: Readers = token === undefined ? { are: 'onThisMachine' } : { are: 'holdersOf', token }
  return [
    privateRoute('/_svc/audit', readers, async () => {
      // 47 kB that only who opens the page needs.
      const { DOCUMENT, POLICY } = await import('./page.js')
      const headers = ['Content-Security-Policy', POLICY, 'Content-Type', 'text/html; charset=utf-8']
      return { status: 200, headers, body: DOCUMENT }
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

function watch({ method }: HostRequest, feed: Feed): Reply {
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
  if (seat === undefined) throw httpErrorOf('audit_busy', ['Retry-After', '30'])
  return { status: 200, headers, body: { chunks: stream } }
}
