/** What a node says it is. A public network is refused before anything is asked of a wallet, signed or sent. */
import { lookup } from 'node:dns/promises'
import { type NodeClient, textIn } from '../adapters/algorand/node-response-reader.js'
import { isPublicAddress } from '../adapters/outbound/public-addresses.js'
import { SvcError } from '../domain/errors.js'
import { MAINNET, TESTNET } from '../domain/network.js'
import type { LocalnetSettings } from './settings.js'

export interface Genesis {
  readonly genesisId: string
  readonly genesisHash: string
}

/** Ids of public networks: Algorand's, and those of others that run its software. */
const PUBLIC_ID = /^((main|test|beta|f)net|(voi|aramid)(main|test))-/i

/** @throws SvcError `node_unavailable`, `invalid_network` */
export async function privateGenesis(
  node: Pick<NodeClient, 'get'>,
  { algod: url, publicAddress = false }: Pick<LocalnetSettings, 'algod' | 'publicAddress'>,
): Promise<Genesis> {
  const unanswered = (error: unknown): never => {
    const why = error instanceof Error ? error.message : String(error)
    const cure =
      'start AlgoKit LocalNet with: algokit localnet start (https://dev.algorand.co/algokit/cli/localnet)'
    throw new SvcError(`No LocalNet at ${url}; ${cure}. ${why}`, 'node_unavailable', 503)
  }
  // No list of names is complete: anybody can start a public network of this software.
  const publicOne = publicAddress ? undefined : await publicAddressOf(url).catch(unanswered)
  if (publicOne !== undefined)
    throw new SvcError(
      `The node at ${url} has a public address (${publicOne}): if its network is your own, add --public-address to svc localnet`,
      'invalid_network',
    )
  const body = await node.get('/v2/transactions/params').catch(unanswered)
  const genesis = { genesisId: textIn(body, 'genesis-id'), genesisHash: textIn(body, 'genesis-hash') }
  const isPublic = [MAINNET, TESTNET].some(({ genesisHash }) => genesisHash === genesis.genesisHash)
  if (!isPublic && !PUBLIC_ID.test(genesis.genesisId)) return genesis
  throw new SvcError(
    `The node at ${url} is of the public network ${genesis.genesisId}: this works on a LocalNet only`,
    'invalid_network',
  )
}

async function publicAddressOf(url: string): Promise<string | undefined> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address).find(isPublicAddress)
}
