/** The node and the indexer that know what a journal speaks of. */
import { SvcError } from '../src/domain/errors.js'
import {
  isPublicNetwork,
  type Network,
  type NetworkFacts,
  type NetworkKey,
  PUBLIC_NETWORKS,
} from '../src/domain/network.js'
import { networkFacts } from '../src/domain/network-definition.js'
import { networkArgument, urlArgument } from './arguments.js'
import { networkFromEnvironment } from './network-from-environment.js'

export const JOURNAL_NETWORK_OPTION = [
  '--network <network>',
  'the network that the journals name, where it is not a public one: a JSON file that defines it (default: SVC_NETWORK)',
  networkArgument,
] as const

export const JOURNAL_INDEXER_OPTION = [
  '--indexer <url>',
  'an indexer (default: a public one; the sandbox with SVC_SANDBOX)',
  urlArgument,
] as const

export interface JournalRemoteFlags {
  readonly network?: Network
  readonly algod?: string
  readonly indexer?: string
}

/** @throws SvcError `network_mismatch`; `invalid_options` where nothing names one that is asked for */
export function journalRemotes(key: NetworkKey, flags: JournalRemoteFlags) {
  const network = networkOfJournal(key, flags.network)
  const sandbox = process.env.SVC_SANDBOX || undefined
  const named = (url: string | undefined, flag: string) => {
    if (url !== undefined) return url
    throw new SvcError(
      `The journal is of ${key}: give its definition (--network), or ${flag}`,
      'invalid_options',
    )
  }
  return {
    algod: () => ({
      url: named(flags.algod ?? sandbox ?? network?.algodUrl, '--algod'),
      token: (flags.algod ?? sandbox) === undefined ? network?.algodToken : undefined,
    }),
    indexer: () => ({ url: named(flags.indexer ?? sandbox ?? network?.indexerUrl, '--indexer') }),
  }
}

/** A journal names its own network. The environment's may be another: it is used where it is the same. */
function networkOfJournal(key: NetworkKey, flag: Network | undefined): NetworkFacts | undefined {
  const own = networkFacts(flag ?? networkFromEnvironment())
  if (own.key === key) return own
  if (flag !== undefined)
    throw new SvcError(`The journal is of ${key}, not of ${own.name}`, 'network_mismatch')
  return isPublicNetwork(key) ? PUBLIC_NETWORKS[key] : undefined
}
