/** Everything that an operator may switch on to see what became of each call: the page, the journal, traces. */
import { createFeed, type Feed } from '../../adapters/audit/feed.js'
import { auditPage } from '../../adapters/audit/page.js'
import { auditRoutes } from '../../adapters/http/free-routes/audit.js'
import type { FreeRoute } from '../../adapters/http/routes.js'
import {
  type Journal,
  type JournalCondition,
  type JournalOptions,
  journal,
} from '../../adapters/journal/journal.js'
import { callSpans } from '../../adapters/traces/spans.js'
import type { AgentDef } from '../../domain/agent.js'
import { SvcError } from '../../domain/errors.js'
import { chargeTable, OUTCOMES } from '../../domain/machines/charge.machine.js'
import { USDC_ASSET_ID } from '../../domain/network.js'
import type { Books } from '../../ports/books.js'
import type { Logger } from '../../ports/logger.js'
import type { EndedCall, Witness } from '../../ports/witness.js'

export interface AuditingOptions {
  /**
   * Serves the page `/_svc/audit`, to this machine only; or, with a token of at least 16 characters, to whoever presents
   * it as the password. Behind a proxy on the same machine, set a token or do not pass `/_svc/` on.
   *
   * @default whether the environment variable `SVC_AUDIT` is `1`, as `svc dev` sets it
   */
  readonly audit?:
    | boolean
    | {
        /** The password, 16 or more visible ASCII characters. */
        readonly token: string | undefined
      }
  /**
   * Appends every ended call to this file, for `svc audit` and for accountants: payers are in it. At `maxBytes` the file
   * is set aside under a number. One process writes to one file, which `<path>.lock` says; a file that cannot be locked
   * (`journal_locked`) or written (`journal_unwritable`) is refused at start.
   *
   * @default off
   */
  readonly journal?:
    | string
    | {
        /** The file. */
        readonly path: string
        /** How large it may become, in bytes. @default 268435456 */
        readonly maxBytes?: number
      }
}

export interface Auditing {
  readonly witnesses: readonly Witness[]
  /** How the journal is doing; absent where there is none. */
  readonly journal?: () => JournalCondition | undefined
  /** @throws SvcError `journal_locked`, `journal_unwritable` */
  openJournal(): void
  readonly routes: readonly FreeRoute[]
  /** Lets go of whoever is watching: a connection without an end would keep a server from closing. */
  endStreams(): void
  close(): Promise<void>
}

const TOKEN = /^[\x21-\x7e]{16,}$/
const JOURNAL_BYTES_MAX = 256 * 1024 * 1024

/** @throws SvcError `invalid_options` */
export function auditingOf(agent: AgentDef, options: AuditingOptions, logger: Logger): Auditing {
  const { audit = process.env.SVC_AUDIT === '1' } = options
  const token = checkedToken(audit)
  const books = booksOf(agent)
  const feed = audit ? feedOf(agent, books) : undefined
  const wanted = journalOptions(options.journal, books, logger)
  let kept: Journal | undefined
  const keep = wanted && { ended: (call: EndedCall) => kept?.ended(call) }
  return {
    witnesses: [feed, keep, callSpans()].filter(witness => witness !== undefined),
    ...(wanted && { journal: () => kept?.condition() }),
    openJournal() {
      if (wanted) kept = journal(wanted)
    },
    routes: feed ? auditRoutes({ page: auditPage(chargeTable), feed, token }) : [],
    endStreams: () => feed?.close(),
    close: async () => kept?.close(),
  }
}

function booksOf({ handle, network, payTo, endpoints }: AgentDef): Books {
  const asset = String(USDC_ASSET_ID[network])
  return { journal: 1, agent: handle, network, payTo, asset, endpoints: endpoints.map(({ name }) => name) }
}

function feedOf(agent: AgentDef, books: Books): Feed {
  return createFeed({
    agent: agent.name,
    network: agent.network,
    endpoints: agent.endpoints.map(({ name }) => name),
    steps: Object.entries(chargeTable.rows).flatMap(([state, { on }]) =>
      Object.keys(on).map(event => `${state}.${event}`),
    ),
    outcomes: OUTCOMES,
    books,
  })
}

function journalOptions(
  option: AuditingOptions['journal'],
  books: Books,
  logger: Logger,
): JournalOptions | undefined {
  if (option === undefined) return undefined
  const { path, maxBytes = JOURNAL_BYTES_MAX } = typeof option === 'string' ? { path: option } : option
  if (typeof path === 'string' && path !== '' && Number.isSafeInteger(maxBytes) && maxBytes > 0) {
    return { path, bytesMax: maxBytes, books, logger }
  }
  throw new SvcError(
    'journal is a path, or { path, maxBytes } with a positive whole number',
    'invalid_options',
  )
}

function checkedToken(audit: AuditingOptions['audit']): string | undefined {
  if (audit === undefined || typeof audit === 'boolean') return undefined
  const { token } = audit
  if (typeof token === 'string' && TOKEN.test(token)) return token
  throw new SvcError('audit.token is at least 16 visible ASCII characters without a space', 'invalid_options')
}
