/** The network of a command, and whom it asks there: what the flags say, then the environment, then the network itself. */
import { InvalidArgumentError } from 'commander'
import { networkFrom } from '../src/app/server/network-from.js'
import {
  isPublicNetwork,
  type Network,
  type NetworkFacts,
  type NetworkKey,
  networkFacts,
  nodeUrls,
  PUBLIC_NETWORKS,
  SvcError,
} from '../src/domain/index.js'
import { urlArgument } from './arguments.js'

/** An empty text is refused: `--network "$NET"` with an unset variable must not mean mainnet. */
function networkArgument(text: string): Network {
  if (text === '') throw new InvalidArgumentError('It is empty: a variable of the shell may be unset.')
  try {
    return networkFrom(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

export const NETWORK_OPTION = [
  '--network <network>',
  'mainnet, testnet or a JSON file that defines one (default: SVC_NETWORK, else mainnet; testnet with SVC_SANDBOX)',
  networkArgument,
] as const

export const ALGOD_OPTION = [
  '--algod <url>',
  'an Algorand node (default: the one that serve uses)',
  urlArgument,
] as const

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

/** @throws SvcError `invalid_network` */
export function networkFromEnvironment(): Network {
  return networkFrom(process.env.SVC_NETWORK)
}

/** @throws SvcError `invalid_network` */
export function networkOfFlags({ network }: { readonly network?: Network }): NetworkFacts {
  return networkFacts(network ?? networkFromEnvironment())
}

/**
 * For commands that work on a sandbox, also where nothing in the environment names it.
 *
 * @throws SvcError `invalid_network`
 */
export function networkOnSandbox({ network }: { readonly network?: Network }): NetworkFacts {
  return networkFacts(network ?? networkFrom(process.env.SVC_NETWORK || 'testnet'))
}

/** For the names of what is shown: a variable that is wrong must not hide it. */
export function ownNetworkIfAny(): NetworkFacts | undefined {
  try {
    return networkOfFlags({})
  } catch {
    return undefined
  }
}

function sandboxUrl(): string | undefined {
  return process.env.SVC_SANDBOX || undefined
}

/** @throws SvcError `invalid_options` */
export function nodeOf(network: NetworkFacts, named: string | undefined) {
  const { algodUrl: url, algodToken: token } = nodeUrls(network, { algodUrl: named }, sandboxUrl())
  if (url === undefined)
    throw new SvcError(`There is no algodUrl for ${network.name}: give --algod`, 'invalid_options')
  return { url, token }
}

interface RemoteFlags {
  readonly algod?: string | undefined
  readonly indexer?: string | undefined
}

/** None where the user named a node and no indexer: that of a public network may be of another one. */
export function indexerOf(network: NetworkFacts, { algod, indexer }: RemoteFlags): string | undefined {
  const options = { algodUrl: algod, indexerUrl: indexer }
  const sandbox = sandboxUrl()
  return nodeUrls(network, options, sandbox).indexerUrl ?? (algod === undefined ? sandbox : undefined)
}

/** Whose sales and index are meant; `undefined` where nothing names one. */
export function facilitatorOf(network: NetworkFacts, named: string | undefined): string | undefined {
  return named ?? sandboxUrl() ?? network.facilitatorUrl
}

export interface JournalRemoteFlags extends RemoteFlags {
  readonly network?: Network
}

/**
 * The node and the indexer that know what a journal speaks of.
 *
 * @throws SvcError `network_mismatch`; `invalid_options` where nothing names one that is asked for
 */
export function journalRemotes(key: NetworkKey, { network: flag, algod, indexer }: JournalRemoteFlags) {
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
