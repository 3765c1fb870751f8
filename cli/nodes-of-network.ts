/** The node and the indexer that a command asks: what its flags say, then the sandbox, then what the network itself says. */
import { remotesOf } from '../src/app/server/remotes-from-options.js'
import { SvcError } from '../src/domain/errors.js'
import type { NetworkFacts } from '../src/domain/network.js'

/** @throws SvcError `invalid_options` */
export function nodeOf(network: NetworkFacts, named: string | undefined) {
  const { algodUrl: url, algodToken: token } = remotesOf({ ...(named && { algodUrl: named }) }, network)
  if (url === undefined)
    throw new SvcError(`There is no algodUrl for ${network.name}: give --algod`, 'invalid_options')
  return { url, token }
}

/** None where the user named a node and no indexer: that of a public network may be of another one. */
export function indexerOf(
  network: NetworkFacts,
  { algod, indexer }: { readonly algod?: string | undefined; readonly indexer?: string | undefined },
): string | undefined {
  const sandbox = algod === undefined ? process.env.SVC_SANDBOX || undefined : undefined
  const options = { ...(algod && { algodUrl: algod }), ...(indexer && { indexerUrl: indexer }) }
  return remotesOf(options, network).indexerUrl ?? sandbox
}
