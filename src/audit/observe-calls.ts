/** Everything that an operator may switch on to see how each call ended: the page, the journal, traces. */

import { auditRoutes } from '../adapters/http/audit-routes.js'
import type { FreeRoute } from '../adapters/http/route-types.js'
import { callSpans } from '../adapters/traces/opentelemetry-spans.js'
import type { Settings } from '../app/server/settings-from-options.js'
import { chargeTable } from '../domain/machines/charge.machine.js'
import type { NetworkFacts } from '../domain/network.js'
import type { CallObserver } from '../ports/call-observer.js'
import { type Journal, type JournalCondition, journal } from './journal/journal-writer.js'
import { auditPage } from './page/page.js'
import { createFeed } from './page/viewer-feed.js'

export interface JournalAndAuditPage {
  readonly callObservers: readonly CallObserver[]
  /** The journal's condition; absent where there is no journal. */
  readonly journal?: () => JournalCondition | undefined
  /** @throws SvcError `journal_locked`, `journal_unwritable` */
  openJournal(): void
  readonly routes: readonly FreeRoute[]
  /** Ends the audit page's streams: an endless connection would keep a server from closing. */
  endStreams(): void
  close(): Promise<void>
}

export function journalAndAuditPageOf({
  agent,
  network,
  audit: { page, keepsMessages },
  journal: kept,
  algodUrl,
  logger,
}: Settings): JournalAndAuditPage {
  const { handle, payTo } = agent
  const endpoints = agent.endpoints.map(({ name }) => name)
  const header = {
    journal: 1,
    agent: handle,
    network: network.key,
    payTo,
    asset: network.usdcId,
    endpoints,
  } as const
  const feed =
    page &&
    createFeed({
      agent: agent.name,
      network: network.name,
      endpoints,
      machine: chargeTable,
      explorerUrl: explorerOf(network, algodUrl),
      keepsMessages,
      header,
    })
  let file: Journal | undefined
  const toFile: CallObserver = {
    ended: call => file?.ended(call),
    streaming: call => file?.streaming?.(call),
  }
  return {
    callObservers: [feed, kept && toFile, callSpans()].filter(observer => observer !== undefined),
    ...(kept && { journal: () => file?.condition() }),
    openJournal() {
      if (kept) file = journal({ path: kept.path, bytesMax: kept.maxBytes, header, logger })
    },
    routes: feed ? auditRoutes({ page: auditPage(), feed, token: page?.token }) : [],
    endStreams: () => feed?.close(),
    close: async () => file?.close(),
  }
}

/** A sandbox plays a public network on this machine, and no explorer knows its transactions: a definition may name its own. */
function explorerOf({ given, explorerUrl }: NetworkFacts, algodUrl: string): string | undefined {
  const isOwn = typeof given === 'object'
  return isOwn || !LOOPBACK_NAME.test(new URL(algodUrl).hostname) ? explorerUrl : undefined
}

const LOOPBACK_NAME = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
