import { readFileSync } from 'node:fs'
import { SvcError, shown } from '../../domain/errors.js'
import { jsonIn } from '../../domain/json.js'
import { isPublicNetwork, type Network, unnamedNetwork } from '../../domain/network.js'
import { networkFacts } from '../../domain/network-definition.js'
import { isRecord } from '../../domain/x402.js'

/**
 * The network that an environment variable names: `mainnet`, `testnet`, or a JSON file with a definition.
 * Nothing is mainnet, or testnet with the environment variable `SVC_SANDBOX`. So is an empty text: an environment that passes an
 * unset variable on, such as a container's, makes it empty.
 *
 * @example
 * const network = networkFrom(process.env.SVC_NETWORK)
 *
 * @throws SvcError `invalid_network`
 */
export function networkFrom(text: string | undefined): Network {
  // Not by `#platform`, which would load all of its neighbours for every `svc --help`.
  const named = text || unnamedNetwork(process.env.SVC_SANDBOX)
  if (isPublicNetwork(named)) return named
  return networkFacts(definitionIn(named), why => {
    throw invalid(`${shown(named)}: ${why}`)
  }).given
}

function definitionIn(file: string): unknown {
  let json: string
  try {
    json = readFileSync(file, 'utf8')
  } catch {
    throw invalid(`A network is mainnet, testnet or a JSON file that defines one, not ${shown(file)}`)
  }
  const definition = jsonIn(json)
  if (isRecord(definition)) return definition
  throw invalid(`${shown(file)} is not a JSON object`)
}

function invalid(why: string): SvcError {
  return new SvcError(why, 'invalid_network')
}
