/** What `svc audit` and `svc refunds` take: journals, or running agents that are asked with the token of SVC_AUDIT_TOKEN. */
import { causeOf } from '../src/app/client/index.js'
import { type Books, openBooks } from '../src/audit/index.js'
import {
  isPublicNetwork,
  type Network,
  type NetworkFacts,
  type NetworkKey,
  PUBLIC_NETWORKS,
  SvcError,
} from '../src/domain/index.js'
import { momentArgument, urlArgument } from './arguments.js'
import type { FlagsOf } from './define-command.js'
import { networkArgument, networkOfFlags, type RemoteFlags, sandboxUrl } from './networks.js'

export const JOURNALS = [
  [
    '<journals...>',
    'the files that serve({ journal }) writes, one of each replica, or the URL of an agent with serve({ audit })',
  ],
] as const

export const JOURNAL_FLAGS = [
  [
    '--network <network>',
    'the network that the journals name, where it is not a public one: a JSON file that defines it (default: SVC_NETWORK)',
    networkArgument,
  ],
  ['--indexer <url>', 'an indexer (default: a public one; the sandbox with SVC_SANDBOX)', urlArgument],
  [
    '--from <moment>',
    'from this moment, such as 2026-01-31 (default: when the journal was begun)',
    momentArgument,
  ],
  ['--to <moment>', 'up to this moment (default: a minute ago)', momentArgument],
] as const

type JournalFlags = FlagsOf<typeof JOURNAL_FLAGS> & RemoteFlags

/** Running agents remember the last calls, without payers. */
export async function booksOf(sources: readonly string[], flags: JournalFlags): Promise<Books> {
  if (flags.from! >= flags.to!) throw new SvcError('--from is a moment before --to', 'invalid_options')
  const isUrl = (source: string) => /^https?:\/\//.test(source)
  const signal = AbortSignal.timeout(PAGE_MS)
  const pages = await Promise.all(sources.filter(isUrl).map(url => auditPageOf(url, 'runs.jsonl', signal)))
  return openBooks({
    files: sources.filter(source => !isUrl(source)),
    remembered: pages.map(wholePage),
    remotes: network => journalRemotes(network, flags),
    period: { fromMs: flags.from, toMs: flags.to },
  })
}

async function* wholePage({ body }: AgentStream): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw new SvcError(`The agent broke its answer off (${causeOf(error)})`, 'audit_unavailable')
  }
}

/** The node and the indexer that know what a journal speaks of. */
function journalRemotes(key: NetworkKey, { network: flag, algod, indexer }: JournalFlags) {
  const network = networkOfJournal(key, flag)
  const sandbox = sandboxUrl()
  const named = (url: string | undefined, flagName: string) => {
    if (url !== undefined) return url
    throw new SvcError(
      `The journal is of ${key}: give its definition (--network), or ${flagName}`,
      'invalid_options',
    )
  }
  return {
    algod: () => ({
      url: named(algod ?? sandbox ?? network?.algodUrl, '--algod'),
      token: (algod ?? sandbox) === undefined ? network?.algodToken : undefined,
    }),
    indexer: () => ({ url: named(indexer ?? sandbox ?? network?.indexerUrl, '--indexer') }),
  }
}

/** A journal names its own network. The environment's may be another: it is used where it is the same. */
function networkOfJournal(key: NetworkKey, flag: Network | undefined): NetworkFacts | undefined {
  const own = networkOfFlags({ network: flag })
  if (own.key === key) return own
  if (flag !== undefined)
    throw new SvcError(`The journal is of ${key}, not of ${own.name}`, 'network_mismatch')
  return isPublicNetwork(key) ? PUBLIC_NETWORKS[key] : undefined
}

const TYPES = { 'runs.jsonl': 'application/jsonl', events: 'text/event-stream' } as const
/** What an agent remembers is some megabytes. */
const PAGE_MS = 60_000

export interface AgentStream {
  readonly body: ReadableStream<Uint8Array>
  /** When it was answered by the agent's clock, to the second. */
  readonly atMs: number
}

export async function auditPageOf(
  agentUrl: string,
  part: keyof typeof TYPES,
  signal?: AbortSignal,
): Promise<AgentStream> {
  const url = `${agentUrl.replace(/\/+$/, '')}/_svc/audit/${part}`
  const token = process.env.SVC_AUDIT_TOKEN
  const headersSent: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {}
  const asked = { redirect: 'error', headers: headersSent, signal } as const
  const { ok, status, headers, body } = await fetch(url, asked).catch(error => {
    throw new SvcError(`${url} did not answer (${causeOf(error)})`, 'audit_unavailable')
  })
  const isPart = headers.get('content-type')?.startsWith(TYPES[part])
  if (ok && isPart && body !== null) return { body, atMs: Date.parse(headers.get('date') ?? '') || 0 }
  await body?.cancel()
  throw new SvcError(`${url} answered ${status}: ${cureOf(status)}`, 'audit_unavailable', status)
}

function cureOf(status: number): string {
  if (status === 401) return 'put the token of its audit page into SVC_AUDIT_TOKEN'
  if (status === 403) return 'ask from its own machine, or serve it with { audit: { token } }'
  if (status === 404)
    return 'serve the agent with { audit: true }, or with { audit: { token } } and SVC_AUDIT_TOKEN'
  return status === 503 ? 'too many are watching, try later' : 'this may be no agent'
}
