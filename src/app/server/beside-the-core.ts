/** What stands beside the core, and is brought by the package's door: the seller's books, and the registry of agents. */
import type { FreeRoute } from '../../adapters/http/route.js'
import type { Registry } from '../../ports/agent-registry.js'
import type { CallObserver } from '../../ports/call-observer.js'
import type { MakeExchange } from '../../ports/exchange.js'
import type { Settings } from './settings-from-options.js'

export interface BesideTheCore {
  /** @throws SvcError `invalid_options` for a webhook that cannot be delivered */
  readonly audit: (settings: Settings) => Audit
  /** The registry that the settings name; `undefined` where they name none. */
  readonly registry: (settings: Settings, exchange: MakeExchange) => Registry | undefined
}

/** All that an operator may switch on to see how each call ended: the page, the journal, traces, webhooks. */
export interface Audit {
  readonly callObservers: readonly CallObserver[]
  /** The journal's condition; absent where there is no journal. */
  readonly journal?: () => JournalCondition | undefined
  /** @throws SvcError `journal_locked`, `journal_unwritable` */
  openJournal(): void
  readonly routes: readonly FreeRoute[]
  /** Ends the audit page's streams: an endless connection would keep a server from closing. */
  endStreams(): void
  /** Waits for running webhooks, for a limited time. */
  close(): Promise<unknown>
}

/** The condition of a journal, for the health check. */
export interface JournalCondition {
  /** Whether the last write succeeded. */
  readonly writable: boolean
  /** Calls that are not on the disk yet. */
  readonly waiting: number
  /** Calls that the journal could not keep since the process began. */
  readonly lost: number
}
