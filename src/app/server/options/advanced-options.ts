/** The options that nearly no seller needs: their defaults are right for one whose callers, facilitator and machine are ordinary. */
import { isValidAddress } from '../../../adapters/algorand/address.js'
import { FACILITATOR_CONNECTIONS_MAX } from '../../../adapters/facilitator/x402-facilitator.js'
import { DEFAULT_EXT_BASE } from '../../../domain/agent-card.js'
import { shown } from '../../../domain/errors.js'
import {
  asGiven,
  flag,
  group,
  holding,
  invalid,
  type Option,
  oneOf,
  optional,
  positive,
  such,
} from '../../../domain/option-checks.js'
import type { Clock } from '../../../ports/clock.js'
import type { CounterTerms } from '../../../ports/counters.js'
import { DEFAULT_TIMEOUTS, type Timeouts } from '../../charge/charge-deps.js'
import type { ManifestSigner } from '../../manifest-signature.js'

/** The options of {@link ServerOptions.advanced}. */
export interface AdvancedOptions {
  /** Accept a facilitator on plain http at a public host. @default false */
  readonly allowHttp?: boolean
  /**
   * The most connections of this process to each facilitator. A payment that settles holds one until the chain has it, for about 4 s:
   * 512 are enough for some 120 payments a second. More payments wait.
   *
   * @default 512
   */
  readonly maxFacilitatorConnections?: number
  /**
   * An indexer, for proof of payments that landed too long ago for a node.
   *
   * @default that of the network's definition, unless `SVC_SANDBOX` replaces the node; else a public one, where neither
   * `SVC_SANDBOX` nor `algodUrl` does
   */
  readonly indexerUrl?: string
  /**
   * Which spellings of the network's id a quote offers: `both`, the 32 characters of CAIP-2 first and the whole genesis hash
   * of 44 characters as a second entry of `accepts`, or `short`, CAIP-2's alone. Python's `x402-avm` pays only the second.
   * Payments in either are accepted, whatever is offered, and each receipt has the spelling that was paid.
   *
   * @default 'both'
   */
  readonly networkIds?: 'short' | 'both'
  /** How many seconds a payment may take to settle, as quotes say. @default 300 */
  readonly maxTimeoutSeconds?: number
  /**
   * How many unsettled runs of a handler a payer may have: a payment can be verified and still fail to settle. A run takes one
   * credit. A call that settles gives it back and one more; one that fails by the seller's fault gives it back; a hang-up, or a
   * payment that did not settle, does not. A call without credit waits up to `timeouts.creditMs`, then ends with 429
   * `too_many_unpaid_calls`. `false` sets no limit.
   *
   * @default `{ start: 8, max: 64, idleMs: 600000 }`
   */
  readonly credit?:
    | false
    | {
        /** How many runs an unknown payer may have before any of them is settled. */
        readonly start?: number
        /** The most runs that a payer can earn. */
        readonly max?: number
        /** After this many milliseconds without a change, a payer is unknown again. */
        readonly idleMs?: number
      }
  /** Tasks of A2A clients that pay in messages. Such a task waits for its payment as long as its quote lives. */
  readonly tasks?: {
    /** The most tasks that wait or are worked on. One address has at most a quarter of them. @default 1000 */
    readonly max?: number
    /** The most bytes of a task's input, as JSON. @default 65536 */
    readonly maxInputBytes?: number
  }
  /**
   * Refuse payments in which no signed transaction can be read. If such payments are accepted, only the facilitator
   * checks them: they have no id, so one payment may run the handler more than once.
   *
   * @default true
   */
  readonly requireReadable?: boolean
  /** How long the steps of a call may take. */
  readonly timeouts?: Partial<Timeouts>
  /**
   * How many bytes the bodies of all unpaid requests may hold together. Above it, the body that began to arrive first
   * is refused with 503 `overloaded`, or the new body if all others are complete.
   *
   * @default 16777216, or four times the largest body that is read
   */
  readonly maxUnpaidBodyBytes?: number
  /**
   * How long a whole request may take to arrive, in milliseconds; its headers 10 seconds of it at most. Read by `serve` alone.
   *
   * @default 30000
   */
  readonly requestTimeout?: number
  /** How many connections `serve` has open at once. More connections are closed without an answer. @default 4096 */
  readonly maxConnections?: number
  /** Allow web pages of any origin to call. @default true */
  readonly cors?: boolean
  /** The base of the URIs of the agent card's extensions. @default 'https://svc.example' */
  readonly extBase?: string
  /** Signs the manifest once, for readers who know the address. @default unsigned */
  readonly signManifest?: ManifestSigner
  /** The clock, so that tests can control time. @default the system's */
  readonly clock?: Partial<Clock>
}

const CREDIT = { start: positive(8), max: optional(positive()), idleMs: positive(600_000) }
const MAX_CREDIT = 64

/** A run is counted until it is settled. A settled one gives back two, so a payer with `max` has fewer than none that are not. */
const credit = holding(CREDIT, (given): CounterTerms | undefined => {
  if (given === false) return undefined
  const { start, max = Math.max(start, MAX_CREDIT), idleMs } = group(CREDIT)(given, 'advanced.credit')
  if (max >= start) return { max: start, floor: start - max, periodMs: idleMs, isRenewed: true }
  throw invalid(`credit.max is at least credit.start, not ${max}`)
})

// Headers carry this value, and they allow no other characters. A check after a charge would be too late.
const isAsciiUrl = (given: unknown) => URL.canParse(String(given)) && /^[\x21-\x7e]+$/.test(String(given))

const signManifest: Option<ManifestSigner | undefined> = given => {
  if (given === undefined) return undefined
  const { origin, address, sign } = given as ManifestSigner
  const noOrigin = `advanced.signManifest.origin is an origin such as 'https://agent.example', not ${shown(origin)}`
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) throw invalid(noOrigin)
  if (!isValidAddress(address)) throw invalid('advanced.signManifest.address is not an Algorand address')
  if (typeof sign !== 'function') throw invalid('advanced.signManifest.sign is not a function')
  return given as ManifestSigner
}

const timeouts = Object.fromEntries(
  Object.entries(DEFAULT_TIMEOUTS).map(([name, ms]) => [name, positive(ms)]),
) as { readonly [Name in keyof Timeouts]: Option<number> }

export const ADVANCED_OPTIONS = {
  allowHttp: flag(false),
  maxFacilitatorConnections: positive(FACILITATOR_CONNECTIONS_MAX),
  indexerUrl: asGiven<string | undefined>(),
  networkIds: oneOf(['short', 'both'], 'both'),
  maxTimeoutSeconds: positive(300),
  credit,
  // Together 64 MiB at most.
  tasks: group({ max: positive(1_000), maxInputBytes: positive(65_536) }),
  requireReadable: flag(true),
  timeouts: group(timeouts),
  maxUnpaidBodyBytes: optional(positive()),
  requestTimeout: positive(30_000),
  maxConnections: positive(4_096),
  cors: flag(true),
  extBase: such(isAsciiUrl, 'an absolute URL in ASCII', DEFAULT_EXT_BASE),
  signManifest,
  clock: asGiven<Partial<Clock> | undefined>(),
} satisfies Record<keyof AdvancedOptions, Option<unknown>>
