/** Networks of Algorand as values: every name that the protocol gives one, and what is paid with there. */
import { fromBase64 } from './bytes.js'
import { shown } from './errors.js'

/** The public networks. On `testnet` USDC costs nothing. */
export type PublicNetwork = 'mainnet' | 'testnet'

/** A network of Algorand: a public one by its name, or any other by its definition. */
export type Network = PublicNetwork | NetworkDefinition

/** The name of a network, or any text, such as an environment variable's, that is checked when the program starts. */
export type NetworkName = PublicNetwork | (string & Record<never, never>)

/**
 * A network that is not one of the public ones, such as a LocalNet. Options must give what it leaves out: nothing is taken from the
 * public networks. A definition with a public network's genesis hash must agree with that network in everything else.
 *
 * @example
 * const localnet = {
 *   name: 'localnet',
 *   genesisId: 'dockernet-v1',
 *   genesisHash: 'ThisIsNotAHash/PutTheHashOfYourNodeInHere+A=',
 *   usdc: 1002,
 *   algodUrl: 'http://localhost:4001',
 *   algodToken: 'a'.repeat(64),
 * }
 */
export interface NetworkDefinition {
  /** For people: letters, digits, dots, hyphens and underscores. */
  readonly name: string
  /** The id that its nodes report, such as `dockernet-v1`. */
  readonly genesisId: string
  /** Base64 of the 32-byte hash of its genesis block, as its nodes report it. */
  readonly genesisHash: string
  /** The id of the asset that is paid with, an asset of 6 decimals. */
  readonly usdc: number
  /** A node of it. @default none: the options must have one */
  readonly algodUrl?: string
  /** The API token of the node at `algodUrl`. It is sent to no other. @default none */
  readonly algodToken?: string
  /** An indexer of it. @default none */
  readonly indexerUrl?: string
  /** A facilitator on it, for sellers. @default none: the options of a server must have one */
  readonly facilitatorUrl?: string
  /**
   * The address of a transaction in an explorer, without the id at its end, such as
   * `https://lora.algokit.io/localnet/transaction/`. The audit page links to it. @default none
   */
  readonly explorerUrl?: string
}

/** How manifests, journals and stores name a network: a public one by its name, any other by its CAIP-2 id. */
export type NetworkKey = PublicNetwork | `algorand:${string}`

/** What the code asks about a network. Two of one `key` are one network, whatever they are called. */
export interface NetworkFacts extends NetworkDefinition {
  readonly key: NetworkKey
  readonly genesisHashBytes: Uint8Array
  /**
   * The CAIP-2 id: `algorand:` and the first 32 characters of the genesis hash in URL-safe base64. The CAIP-2 profile for
   * Algorand allows at most 32.
   *
   * @see CAIP-2
   */
  readonly caip2: `algorand:${string}`
  /**
   * The id with the whole genesis hash, 44 characters of it. CAIP-2 does not allow it, but some facilitators list it, and
   * Python's `x402-avm` knows no other.
   */
  readonly wholeHashId: string
  /** `usdc` as quotes write it. */
  readonly usdcId: string
  /** What it was made from. It is what agents and users see. */
  readonly given: Network
}

export const USDC_DECIMALS = 6

/** A public facilitator that sponsors network fees: payers spend USDC alone. They still keep 0.2 ALGO in the account. */
export const DEFAULT_FACILITATOR = 'https://facilitator.goplausible.xyz'

/** @param definition checked: {@link networkFacts} takes what is not. */
export function factsOfChecked(definition: NetworkDefinition, publicName?: PublicNetwork): NetworkFacts {
  const { genesisHash, usdc } = definition
  const reference = genesisHash.slice(0, 32).replaceAll('+', '-').replaceAll('/', '_')
  const caip2 = `algorand:${reference}` as const
  return Object.freeze({
    ...definition,
    key: publicName ?? caip2,
    genesisHashBytes: fromBase64(genesisHash),
    caip2,
    wholeHashId: `algorand:${genesisHash}`,
    usdcId: String(usdc),
    given: publicName ?? definition,
  })
}

/** Their nodes and indexers are public ones, used where no other is given. */
export const MAINNET = factsOfChecked(
  {
    name: 'mainnet',
    genesisId: 'mainnet-v1.0',
    genesisHash: 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=',
    usdc: 31566704,
    algodUrl: 'https://mainnet-api.algonode.cloud',
    indexerUrl: 'https://mainnet-idx.algonode.cloud',
    facilitatorUrl: DEFAULT_FACILITATOR,
    explorerUrl: 'https://lora.algokit.io/mainnet/transaction/',
  },
  'mainnet',
)
export const TESTNET = factsOfChecked(
  {
    name: 'testnet',
    genesisId: 'testnet-v1.0',
    genesisHash: 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=',
    usdc: 10458941,
    algodUrl: 'https://testnet-api.algonode.cloud',
    indexerUrl: 'https://testnet-idx.algonode.cloud',
    facilitatorUrl: DEFAULT_FACILITATOR,
    explorerUrl: 'https://lora.algokit.io/testnet/transaction/',
  },
  'testnet',
)
export const PUBLIC_NETWORKS: Readonly<Record<PublicNetwork, NetworkFacts>> = Object.freeze({
  mainnet: MAINNET,
  testnet: TESTNET,
})

/** Mainnet's CAIP-2 id. The 44-character form that some facilitators print is accepted too. @see CAIP-2 */
export const ALGORAND_MAINNET = 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k'
/** Testnet's CAIP-2 id. @see CAIP-2 */
export const ALGORAND_TESTNET = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'

/** Each public network's CAIP-2 id. @see CAIP-2 */
export const CAIP2: Readonly<Record<PublicNetwork, string>> = Object.freeze({
  mainnet: ALGORAND_MAINNET,
  testnet: ALGORAND_TESTNET,
})

/** USDC's asset id on each public network. */
export const USDC_ASSET_ID: Readonly<Record<PublicNetwork, number>> = Object.freeze({
  mainnet: MAINNET.usdc,
  testnet: TESTNET.usdc,
})

/** Which spellings of its network's id a quote offers: CAIP-2's alone, or both, CAIP-2's first. */
export type NetworkIds = 'short' | 'both'

/** The spellings of a network's id, in the order in which a quote offers them. */
export function networkIdsOf({ caip2, wholeHashId }: NetworkFacts, offered: NetworkIds): readonly string[] {
  return offered === 'short' ? [caip2] : [caip2, wholeHashId]
}

/** Whether a stranger's text is this network's id, in its 32- or its 44-character form. */
export function isIdOf({ caip2, wholeHashId }: NetworkFacts, id: unknown): id is string {
  return id === caip2 || id === wholeHashId
}

/** Both are asked because both are signed. `undefined` where the node is of the network. */
export function otherThan(network: NetworkFacts, node: Genesis): string | undefined {
  if (node.genesisHash !== network.genesisHash) return `its genesis hash is ${shown(node.genesisHash)}`
  if (node.genesisId === network.genesisId) return undefined
  return `its genesis id is ${shown(node.genesisId)}, not ${shown(network.genesisId)}`
}

type Genesis = Pick<NetworkDefinition, 'genesisHash' | 'genesisId'>

/** The public network that an id names; `undefined` for any other text. */
export function publicNetworkOf(id: unknown): PublicNetwork | undefined {
  if (isIdOf(MAINNET, id)) return 'mainnet'
  return isIdOf(TESTNET, id) ? 'testnet' : undefined
}

/** The network that an id names, for people: our own, or a public one; `undefined` for any other text. */
export function networkOf(id: unknown, own: NetworkFacts | undefined): NetworkFacts | undefined {
  return [own, MAINNET, TESTNET].find(network => network && isIdOf(network, id))
}

/** `sandbox` is the variable `SVC_SANDBOX`, which may be empty. It emulates testnet, unless its user names another to both. */
export function unnamedNetwork(sandbox: string | undefined): PublicNetwork {
  return sandbox ? 'testnet' : 'mainnet'
}

export function isPublicNetwork(value: unknown): value is PublicNetwork {
  return value === 'mainnet' || value === 'testnet'
}

const CAIP2_ID = /^algorand:[A-Za-z0-9_-]{32}$/

export function isNetworkKey(value: unknown): value is NetworkKey {
  return isPublicNetwork(value) || (typeof value === 'string' && CAIP2_ID.test(value))
}
