/** The two networks, with every name that the protocol gives them. */

/** A network of Algorand. On `testnet` USDC costs nothing. */
export type Network = 'mainnet' | 'testnet'

/** The name of a network, or any text, such as an environment variable's, that is checked when the program starts. */
export type NetworkName = Network | (string & Record<never, never>)

/** Base64 of the 32-byte hash of each network's genesis block: what a node reports and what a transaction carries. */
export const GENESIS_HASH: Readonly<Record<Network, string>> = Object.freeze({
  mainnet: 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=',
  testnet: 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=',
})

export const GENESIS_ID: Readonly<Record<Network, string>> = Object.freeze({
  mainnet: 'mainnet-v1.0',
  testnet: 'testnet-v1.0',
})

/**
 * Mainnet's CAIP-2 id: `algorand:` and the first 32 characters of the genesis hash in URL-safe base64 (the CAIP-2
 * profile for Algorand allows at most 32). The 44-character form that some facilitators print is accepted too.
 *
 * @see CAIP-2
 */
export const ALGORAND_MAINNET = 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k'
/**
 * Testnet's CAIP-2 id.
 *
 * @see CAIP-2
 */
export const ALGORAND_TESTNET = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'

/**
 * Each network's CAIP-2 id.
 *
 * @see CAIP-2
 */
export const CAIP2: Readonly<Record<Network, string>> = Object.freeze({
  mainnet: ALGORAND_MAINNET,
  testnet: ALGORAND_TESTNET,
})

/** USDC's asset id on each network. */
export const USDC_ASSET_ID: Readonly<Record<Network, number>> = Object.freeze({
  mainnet: 31566704,
  testnet: 10458941,
})

export const USDC_DECIMALS = 6

/** A public facilitator that sponsors network fees: payers spend USDC alone. They still keep 0.2 ALGO in the account. */
export const DEFAULT_FACILITATOR = 'https://facilitator.goplausible.xyz'

/** Public nodes, used where no `algodUrl` or `indexerUrl` is given. */
export const DEFAULT_ALGOD: Readonly<Record<Network, string>> = Object.freeze({
  mainnet: 'https://mainnet-api.algonode.cloud',
  testnet: 'https://testnet-api.algonode.cloud',
})
export const DEFAULT_INDEXER: Readonly<Record<Network, string>> = Object.freeze({
  mainnet: 'https://mainnet-idx.algonode.cloud',
  testnet: 'https://testnet-idx.algonode.cloud',
})

/**
 * Each network's id with the whole genesis hash, 44 characters of it. CAIP-2 does not allow it, but some facilitators list
 * it, and Python's `x402-avm` knows no other.
 */
export const WHOLE_HASH_ID: Readonly<Record<Network, string>> = Object.freeze({
  mainnet: `algorand:${GENESIS_HASH.mainnet}`,
  testnet: `algorand:${GENESIS_HASH.testnet}`,
})

/** Which spellings of its network's id a quote offers: CAIP-2's alone, or both, CAIP-2's first. */
export type NetworkIds = 'short' | 'both'

/** The spellings of a network's id, in the order in which a quote offers them. */
export function networkIdsOf(network: Network, offered: NetworkIds): readonly string[] {
  return offered === 'short' ? [CAIP2[network]] : [CAIP2[network], WHOLE_HASH_ID[network]]
}

const BY_ID: ReadonlyMap<string, Network> = new Map(
  (['mainnet', 'testnet'] as const).flatMap(network => [
    [CAIP2[network], network],
    [WHOLE_HASH_ID[network], network],
  ]),
)

/** The network that a CAIP-2 id names, in its 32- or its 44-character form; `undefined` for any other string. */
export function networkOf(id: unknown): Network | undefined {
  return typeof id === 'string' ? BY_ID.get(id) : undefined
}

export function isNetwork(value: unknown): value is Network {
  return value === 'mainnet' || value === 'testnet'
}
