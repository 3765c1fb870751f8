/** The network of a command, and whom it asks there: what the flags say, then the environment, then the network itself. */
import { CommanderError, InvalidArgumentError } from 'commander'
import { networkFrom } from '../src/app/server/network-from-environment.js'
import { type Network, type NetworkFacts, networkFacts, nodeUrls, SvcError } from '../src/domain/index.js'
import { urlArgument } from './arguments.js'

/** An empty text is refused: `--network "$NET"` with an unset variable must not mean mainnet. */
export function networkArgument(text: string): Network {
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

export function networkFromEnvironment(): Network {
  return networkFrom(process.env.SVC_NETWORK)
}

export function networkOfFlags({ network }: { readonly network?: Network }): NetworkFacts {
  return networkFacts(network ?? networkFromEnvironment())
}

/** For the names of what is shown: a variable that is wrong must not hide it. */
export function ownNetworkIfAny(): NetworkFacts | undefined {
  try {
    return networkOfFlags({})
  } catch {
    return undefined
  }
}

export function sandboxUrl(): string | undefined {
  return process.env.SVC_SANDBOX || undefined
}

export function checkSandboxUrl(): void {
  const url = sandboxUrl()
  if (url !== undefined && !(/^https?:\/\//i.test(url) && URL.canParse(url)))
    throw new CommanderError(2, 'svc.sandbox', `SVC_SANDBOX is no http(s) URL: '${url}'`)
}

export function nodeOf(network: NetworkFacts, named: string | undefined) {
  const { algodUrl: url, algodToken: token } = nodeUrls(network, { algodUrl: named }, sandboxUrl())
  if (url === undefined)
    throw new SvcError(`There is no algodUrl for ${network.name}: give --algod`, 'invalid_options')
  return { url, token }
}

export interface RemoteFlags {
  readonly algod?: string | undefined
  readonly indexer?: string | undefined
}

/** None where the user named a node and no indexer: that of a public network may be of another one. */
export function indexerOf(network: NetworkFacts, { algod, indexer }: RemoteFlags): string | undefined {
  const options = { algodUrl: algod, indexerUrl: indexer }
  const sandbox = sandboxUrl()
  return nodeUrls(network, options, sandbox).indexerUrl ?? (algod === undefined ? sandbox : undefined)
}

export function facilitatorOf(network: NetworkFacts, named: string | undefined): string | undefined {
  return named ?? sandboxUrl() ?? network.facilitatorUrl
}
