/**
 * What a server gets besides its options. A simulation replaces the first part, the machine and the network. The package's entry point
 * brings the second part, which stands beside the core: the seller's books, and the registry of agents.
 */
import { exchangeTo } from '#platform'
import type { FreeRoute, PassedRoute } from '../../adapters/http/route.js'
import { loadOnce } from '../../domain/load-once.js'
import type { Registry } from '../../ports/agent-registry.js'
import type { CallObserver } from '../../ports/call-observer.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { MakeExchange } from '../../ports/exchange.js'
import type { PaymentReader } from '../../ports/payment-reader.js'
import { type Random, systemRandom } from '../../ports/random.js'
import type { Settings } from './options/server-settings.js'

export interface ServerEnvironment extends BesideTheCore {
  readonly clock: Clock
  readonly random: Random
  /** How facilitators, nodes and indexers are reached. */
  readonly exchange: MakeExchange
  /** Loads what reads payments. */
  readonly paymentReader: () => Promise<PaymentReader>
}

export function environmentOf({ clock }: Settings, beside: BesideTheCore): ServerEnvironment {
  return {
    ...beside,
    clock: clock === undefined ? systemClock : bound({ ...systemClock, ...clock }),
    random: systemRandom,
    exchange: exchangeTo,
    paymentReader: loadOnce(async () => {
      const { algorandPaymentReader } = await import('../../adapters/algorand/read-payment.js')
      return algorandPaymentReader()
    }),
  }
}

/** Binds the functions: they are passed on separately, and a seller's functions may need their own clock as `this`. */
function bound(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (ms, callback) => clock.after(ms, callback),
  }
}

export interface BesideTheCore {
  /** @throws SvcError `invalid_options` for a webhook that cannot be delivered */
  readonly audit: (settings: Settings, inFlight: () => number) => Audit
  /** The registry that the settings name; `undefined` where they name none. */
  readonly registry: (settings: Settings, exchange: MakeExchange) => Registry | undefined
  /** Paths that another server answers unpaid. */
  readonly passed?: readonly PassedRoute[]
}

/** All that an operator may switch on to see how each call ended: the page, the journal, traces, webhooks. */
export interface Audit {
  readonly callObservers: readonly CallObserver[]
  /** The text that Prometheus reads. */
  metrics(): Promise<string>
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
