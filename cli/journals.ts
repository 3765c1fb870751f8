/** What `svc audit` and `svc refunds` take: journals, or running agents that are asked with the token of SVC_AUDIT_TOKEN. */
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
  const isUrl = (source: string) => /^https?:\/\//.test(source)
  const pages = await Promise.all(sources.filter(isUrl).map(url => auditPageOf(url, 'runs.jsonl')))
  return openBooks({
    files: sources.filter(source => !isUrl(source)),
    remembered: pages.map(({ body }) => body),
    remotes: network => journalRemotes(network, flags),
    period: { fromMs: flags.from, toMs: flags.to },
  })
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

export interface AgentStream {
  readonly body: ReadableStream<Uint8Array>
  /** When it was answered by the agent's clock, to the second. */
  readonly atMs: number
}

export async function auditPageOf(
  agentUrl: string,
  part: 'runs.jsonl' | 'events',
  signal?: AbortSignal,
): Promise<AgentStream> {
  const url = `${agentUrl.replace(/\/+$/, '')}/_svc/audit/${part}`
  const response = await answerOf(url, signal)
  const { body, headers } = response
  if (response.ok && body !== null) return { body, atMs: Date.parse(headers.get('date') ?? '') || 0 }
  await body?.cancel()
  throw new SvcError(
    `${url} answered ${response.status}: ${cureOf(response.status)}`,
    'audit_unavailable',
    response.status,
  )
}

async function answerOf(url: string, signal: AbortSignal | undefined): Promise<Response> {
  const token = process.env.SVC_AUDIT_TOKEN
  const headers = token ? { authorization: `Bearer ${token}` } : undefined
  try {
    return await fetch(url, { redirect: 'error', headers, signal })
  } catch (error) {
    const cause = (error as Error).cause ?? error
    throw new SvcError(`${url} did not answer (${(cause as Error).message})`, 'audit_unavailable')
  }
}

function cureOf(status: number): string {
  if (status === 401) return 'put the token of its audit page into SVC_AUDIT_TOKEN'
  if (status === 403) return 'ask from its own machine, or serve it with { audit: { token } }'
  if (status === 404)
    return 'serve the agent with { audit: true }, or with { audit: { token } } and SVC_AUDIT_TOKEN'
  return status === 503 ? 'too many are watching, try later' : 'this may be no agent'
}
