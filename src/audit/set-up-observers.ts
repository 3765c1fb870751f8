/** Everything that an operator may switch on to see how each call ended: the page, the journal, traces, webhooks; and the metrics. */
import type { Settings } from '../app/server/options/server-settings.js'
import type { Audit } from '../app/server/server-environment.js'
import { isLoopback } from '../domain/caller-ip-network.js'
import { loadOnce } from '../domain/load-once.js'
import { chargeTable } from '../domain/machines/charge.machine.js'
import type { NetworkFacts } from '../domain/network.js'
import type { CallObserver } from '../ports/call-observer.js'
import { readLatest } from './journal/journal-reader.js'
import { type Journal, journal } from './journal/journal-writer.js'
import { auditRoutes } from './page/audit-routes.js'
import { whatWalletLacks } from './page/seller-standing.js'
import { createFeed } from './page/viewer-feed.js'
import { settlementWebhook } from './webhook/settlement-webhook.js'

/** Added to the time that calls have to drain. */
const WEBHOOK_GRACE_MS = 5_000

/** Where all copies of OpenTelemetry's API 1.x meet. An SDK registers a `trace` in it. */
const TRACING = Symbol.for('opentelemetry.js.api.1')
const spans = loadOnce(async () => (await import('./opentelemetry-spans.js')).callSpans())

/** @param names of the endpoints in the books: none for a gate, whose routes come later; a name that is added to the list counts */
export function auditOf(
  settings: Settings,
  inFlight: () => number,
  names: readonly string[] = settings.agent.endpoints.map(({ name }) => name),
): Audit {
  const { agent, network, audit, journal: kept, algodUrl, logger } = settings
  const { page, keepsMessages } = audit
  const { handle, payTo } = agent
  const header = {
    journal: 1,
    agent: handle,
    network: network.key,
    payTo,
    asset: network.usdcId,
    endpoints: names,
  } as const
  const feed =
    page &&
    createFeed({
      agent: agent.name,
      network: network.name,
      endpoints: names,
      machine: chargeTable,
      explorerUrl: explorerOf(network, algodUrl),
      keepsMessages,
      header,
      ...(kept && { history: () => readLatest(kept.path, '"units":') }),
      walletLacks: () => whatWalletLacks(settings),
      logger,
    })
  const webhooks = settings.webhooks.map(webhook => settlementWebhook(webhook, header, logger))
  let file: Journal | undefined
  const condition = kept ? () => file?.condition() : undefined
  // Prometheus' library is loaded with the first call that ends, or the first reading.
  const metrics = loadOnce(async () => {
    const { prometheusMetrics } = await import('./prometheus-metrics.js')
    return prometheusMetrics(inFlight, condition)
  })
  // A failure is told to whoever reads the metrics.
  const toMetrics: CallObserver = {
    ended: async call => (await metrics().catch(() => undefined))?.ended(call),
  }
  const toFile: CallObserver = { ended: call => file?.ended(call), streaming: call => file?.streaming(call) }
  const toSpans: CallObserver = {
    async ended(call) {
      // The active context comes along with the promise.
      const isTraced = (globalThis as { [TRACING]?: { trace?: unknown } })[TRACING]?.trace !== undefined
      if (isTraced) (await spans()).ended(call)
    },
  }
  return {
    callObservers: [toMetrics, ...webhooks, feed, kept && toFile, toSpans].filter(each => each !== undefined),
    metrics: async () => (await metrics()).text(),
    ...(condition && { journal: condition }),
    openJournal() {
      if (kept) file = journal({ path: kept.path, bytesMax: kept.maxBytes, header, logger })
    },
    routes: feed ? auditRoutes(feed, page?.token) : [],
    endStreams: () => feed?.close(),
    close: () => Promise.all([file?.close(), ...webhooks.map(webhook => webhook.close(WEBHOOK_GRACE_MS))]),
  }
}

/** A sandbox plays a public network on this machine, and no explorer knows its transactions: a definition may name its own. */
function explorerOf({ given, explorerUrl }: NetworkFacts, algodUrl: string): string | undefined {
  const isOwn = typeof given === 'object'
  return isOwn || !isLoopback(new URL(algodUrl).hostname) ? explorerUrl : undefined
}
