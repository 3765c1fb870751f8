/** Nobody must use mainnet by mistake: a definition that shares a part of a public network's identity must share all of it. */
import { SvcError, shown } from './errors.js'
import {
  factsOfChecked,
  isPublicNetwork,
  MAINNET,
  type NetworkDefinition,
  type NetworkFacts,
  PUBLIC_NETWORKS,
  type PublicNetwork,
  TESTNET,
} from './network.js'
import { between, matching, type Option, optional, present, readDefinition, secret } from './option-checks.js'
import { isWebUrl } from './untrusted-text.js'
import { isRecord } from './x402.js'

type Refuse = (why: string) => never

/** What was read once is not read again: agents carry their definition through many hands. */
const known = new WeakMap<object, NetworkFacts>()

export function networkFacts(value: unknown, refuse: Refuse = refuseNetwork): NetworkFacts {
  if (isPublicNetwork(value)) return PUBLIC_NETWORKS[value]
  if (!isRecord(value))
    return refuse(`network is mainnet, testnet or a definition of a network, not ${shown(value)}`)
  const read = known.get(value)
  if (read) return read
  const told: Refuse = why => refuse(`The definition of a network: ${why}`)
  // A copy of its own: what the user's object becomes later does not matter.
  const definition = Object.freeze(present(readDefinition(value, DEFINITION, told)))
  const facts = Object.freeze({ ...factsOfChecked(definition, publicNameOf(definition)), given: definition })
  refuseLies(facts, told)
  known.set(definition, facts)
  return facts
}

function refuseNetwork(why: string): never {
  throw new SvcError(why, 'invalid_network')
}

/** Not shown: it may hold a password. */
const url = optional(secret(isWebUrl, 'an absolute http or https URL without a password'))
const isToken = (given: unknown) => typeof given === 'string' && /^[\x21-\x7e]{1,1024}$/.test(given)

/** A misspelt URL that went unread would send requests elsewhere. */
const DEFINITION = {
  name: matching(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    '1 to 64 letters, digits, dots, hyphens and underscores',
  ),
  // The ledger's limit is 128 bytes.
  genesisId: matching(/^[\x21-\x7e]{1,128}$/, '1 to 128 printable ASCII characters'),
  // 32 bytes in 44 characters. The last digit holds four bits, and only this writing of them is the nodes' own.
  genesisHash: matching(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, 'standard base64 of 32 bytes'),
  usdc: between(1, Number.MAX_SAFE_INTEGER),
  algodUrl: url,
  algodToken: optional(secret(isToken, 'printable ASCII text')),
  indexerUrl: url,
  facilitatorUrl: url,
  explorerUrl: url,
} satisfies Record<keyof NetworkDefinition, Option<unknown>>

function publicNameOf({ genesisHash }: NetworkDefinition): PublicNetwork | undefined {
  const found = [MAINNET, TESTNET].find(network => network.genesisHash === genesisHash)
  return found?.given as PublicNetwork | undefined
}

/** If a play network looks like mainnet, a seller gives goods away. If mainnet looks like a play network, a buyer spends real money. */
function refuseLies(facts: NetworkFacts, refuse: Refuse): void {
  const { key } = facts
  if (isPublicNetwork(key)) {
    const real = PUBLIC_NETWORKS[key]
    for (const field of ['name', 'genesisId', 'usdc'] as const) {
      if (facts[field] === real[field]) continue
      const has = `${field} ${shown(facts[field])}`
      refuse(`its genesis hash is ${key}'s, whose ${field} is ${shown(real[field])}: it says ${has}`)
    }
    return
  }
  for (const real of [MAINNET, TESTNET])
    if (facts.caip2 === real.caip2) refuse(`its id would be ${real.name}'s, and its genesis hash is not`)
  for (const field of ['name', 'genesisId'] as const) {
    const claimed = claimedBy(facts[field])
    if (claimed !== undefined)
      refuse(`its ${field} ${shown(facts[field])} says ${claimed}, and its genesis hash is not ${claimed}'s`)
  }
}

/** `mainnet` anywhere in a name says mainnet. Private networks may be test networks, so only the whole name says testnet. */
function claimedBy(text: string): PublicNetwork | undefined {
  const letters = text.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (letters.includes('mainnet')) return 'mainnet'
  return /^(algorand)?testnet(v10)?$/.test(letters) ? 'testnet' : undefined
}

export interface NodeUrls {
  readonly algodUrl: string | undefined
  readonly algodToken: string | undefined
  readonly indexerUrl: string | undefined
}

/** Which node and which indexer are asked: what the options say, then a sandbox, then what the network itself says. */
export function nodeUrls(
  network: NetworkFacts,
  options: { readonly [Key in keyof NodeUrls]?: string | undefined },
  sandbox: string | undefined,
): NodeUrls {
  const replaced = options.algodUrl ?? sandbox
  // A public indexer is a default beside the public node alone. The user chose that of a definition: any node but a sandbox has it.
  const isPublic = typeof network.given === 'string'
  const passedOver = isPublic ? replaced !== undefined : replaced !== options.algodUrl
  return {
    algodUrl: replaced ?? network.algodUrl,
    // A definition's token is for its own node.
    algodToken: options.algodToken ?? (replaced === undefined ? network.algodToken : undefined),
    indexerUrl: options.indexerUrl ?? (passedOver ? undefined : network.indexerUrl),
  }
}
