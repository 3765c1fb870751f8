/** The audit page, what it is told while it is open, and the remembered calls as JSON lines. */
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import type { FreeRoute } from '../app.js'
import { HttpRefusal } from '../refusal.js'
import { admitToAudit } from './audit-access.js'

export interface AuditRoutesOptions {
  readonly page: { readonly html: string; readonly policy: string }
  readonly feed: {
    join(viewer: { write(text: string): boolean; end(): void }): Seat | undefined
    lines(): Iterable<string>
  }
  /** Whoever presents it may look, from anywhere. Without one, only this machine may. */
  readonly token: string | undefined
}

interface Seat {
  drained(): void
  leave(): void
}

export function auditRoutes({ page, feed, token }: AuditRoutesOptions): readonly FreeRoute[] {
  return [
    guarded('/_svc/audit', token, ctx => {
      ctx.set('Content-Security-Policy', page.policy)
      ctx.type = 'text/html'
      ctx.body = page.html
    }),
    guarded('/_svc/audit/events', token, ctx => watch(ctx, feed)),
    guarded('/_svc/audit/runs.jsonl', token, ctx => {
      ctx.type = 'application/jsonl'
      ctx.body = Readable.from(feed.lines())
    }),
  ]
}

function guarded(path: string, token: string | undefined, answer: (ctx: Context) => void): FreeRoute {
  return {
    path,
    method: 'GET',
    handle(ctx) {
      // Paid routes are for every page; this one is for its own only.
      ctx.remove('Access-Control-Allow-Origin')
      ctx.remove('Access-Control-Expose-Headers')
      ctx.set({
        'Cache-Control': 'no-store',
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
      })
      admitToAudit(ctx.req, token)
      answer(ctx)
    },
  }
}

function watch(ctx: Context, feed: AuditRoutesOptions['feed']): void {
  const { res } = ctx
  ctx.status = 200
  // Proxies that collect an answer before they pass it on would pass nothing on.
  ctx.set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' })
  if (ctx.method === 'HEAD') return
  const seat = feed.join({ write: text => res.write(text), end: () => res.end() })
  if (seat === undefined) {
    throw new HttpRefusal(503, 'audit_busy', 'Too many are watching already.', { 'Retry-After': '30' })
  }
  ctx.respond = false
  res.on('drain', seat.drained)
  res.on('close', seat.leave)
}
