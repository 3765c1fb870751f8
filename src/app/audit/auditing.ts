/** Everything that an operator may switch on to see what became of each call: the page, the journal, traces. */
import { createFeed } from '../../adapters/audit/feed.js'
import { auditPage } from '../../adapters/audit/page.js'
import type { FreeRoute } from '../../adapters/http/app.js'
import { auditRoutes } from '../../adapters/http/free-routes/audit.js'
import type { AgentDef } from '../../domain/agent.js'
import { SvcError } from '../../domain/errors.js'
import { chargeTable, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { Witness } from '../../ports/witness.js'

export interface AuditingOptions {
  /**
   * Serves the page `/_svc/audit`, to this machine only; or, with a token of at least 16 characters, to whoever presents
   * it as the password. Behind a proxy on the same machine, set a token or do not pass `/_svc/` on.
   *
   * @default false
   */
  readonly audit?: boolean | { readonly token: string }
}

export interface Auditing {
  readonly witnesses: readonly Witness[]
  readonly routes: readonly FreeRoute[]
  /** Lets go of whoever is watching: a connection without an end would keep a server from closing. */
  endStreams(): void
  close(): Promise<void>
}

const TOKEN = /^[\x21-\x7e]{16,}$/

/** @throws SvcError `invalid_options` */
export function auditingOf(agent: AgentDef, { audit }: AuditingOptions): Auditing {
  const token = checkedToken(audit)
  const feed = audit ? feedOf(agent) : undefined
  return {
    witnesses: feed ? [feed] : [],
    routes: feed ? auditRoutes({ page: auditPage(chargeTable), feed, token }) : [],
    endStreams: () => feed?.close(),
    async close() {},
  }
}

function feedOf(agent: AgentDef) {
  return createFeed({
    agent: agent.name,
    network: agent.network,
    endpoints: agent.endpoints.map(({ name }) => name),
    steps: Object.entries(chargeTable.rows).flatMap(([state, { on }]) =>
      Object.keys(on).map(event => `${state}.${event}`),
    ),
    outcomes: OUTCOMES,
  })
}

function checkedToken(audit: AuditingOptions['audit']): string | undefined {
  if (audit === undefined || typeof audit === 'boolean') return undefined
  const { token } = audit
  if (typeof token === 'string' && TOKEN.test(token)) return token
  throw new SvcError('audit.token is at least 16 visible ASCII characters without a space', 'invalid_options')
}
