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
import { refuseUnknown } from './option-checks.js'
import { isWebUrl } from './strangers-text.js'
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
  const definition = checkedDefinition(value, told)
  const facts = Object.freeze({ ...factsOfChecked(definition, publicNameOf(definition)), given: definition })
  refuseLies(facts, told)
  known.set(definition, facts)
  return facts
}

function refuseNetwork(why: string): never {
  throw new SvcError(why, 'invalid_network')
}

/** A misspelt URL that went unread would send requests elsewhere. */
const FIELDS: readonly (keyof NetworkDefinition)[] = [
  ...(['name', 'genesisId', 'genesisHash', 'usdc'] as const),
  ...(['algodUrl', 'algodToken', 'indexerUrl', 'facilitatorUrl', 'explorerUrl'] as const),
]
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
/** The ledger's limit is 128 bytes. */
const GENESIS_ID = /^[\x21-\x7e]{1,128}$/
/** 32 bytes in 44 characters. The last digit holds four bits, and only this writing of them is the nodes' own. */
const GENESIS_HASH = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/
const TOKEN = /^[\x21-\x7e]{1,1024}$/

/** A copy of its own: what the user's object becomes later does not matter. */
function checkedDefinition(value: Record<string, unknown>, refuse: Refuse): NetworkDefinition {
  refuseUnknown(value, FIELDS, '', refuse)
  const { name, genesisId, genesisHash, usdc, algodToken, ...urls } = value
  const matched = (what: string, text: unknown, pattern: RegExp, is: string): string =>
    typeof text === 'string' && pattern.test(text) ? text : refuse(`${what} is ${is}, not ${shown(text)}`)
  const definition = {
    name: matched('name', name, NAME, '1 to 64 letters, digits, dots, hyphens and underscores'),
    genesisId: matched('genesisId', genesisId, GENESIS_ID, '1 to 128 printable ASCII characters'),
    genesisHash: matched('genesisHash', genesisHash, GENESIS_HASH, 'standard base64 of 32 bytes'),
    usdc:
      Number.isSafeInteger(usdc) && (usdc as number) > 0
        ? (usdc as number)
        : refuse(`usdc is the asset's number, not ${shown(usdc)}`),
    ...urlsIn(urls, refuse),
  }
  if (algodToken === undefined) return Object.freeze(definition)
  // Never shown: it is a secret.
  if (typeof algodToken !== 'string' || !TOKEN.test(algodToken))
    refuse('algodToken is not printable ASCII text')
  return Object.freeze({ ...definition, algodToken: algodToken as string })
}

type Urls = Pick<NetworkDefinition, 'algodUrl' | 'indexerUrl' | 'facilitatorUrl' | 'explorerUrl'>

function urlsIn(given: Record<string, unknown>, refuse: Refuse): Urls {
  const urls: Record<string, string> = {}
  for (const [field, url] of Object.entries(given)) {
    if (url === undefined) continue
    // Not shown: it may hold a password.
    if (!isWebUrl(url)) return refuse(`${field} is an absolute http or https URL without a password`)
    urls[field] = url
  }
  return urls
}

function publicNameOf({ genesisHash }: NetworkDefinition): PublicNetwork | undefined {
  const found = [MAINNET, TESTNET].find(network => network.genesisHash === genesisHash)
  return found?.given as PublicNetwork | undefined
}

/**
 * If a play network looks like mainnet, a seller gives goods away. If mainnet looks like a play network, a buyer spends real money.
 */
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
  // A public indexer is only a default beside the public node. The user chose the indexer of a definition, so it is used with any
  // node but a sandbox.
  const isPublic = typeof network.given === 'string'
  const passedOver = isPublic ? replaced !== undefined : replaced !== options.algodUrl
  return {
    algodUrl: replaced ?? network.algodUrl,
    // A definition's token is for its own node.
    algodToken: options.algodToken ?? (replaced === undefined ? network.algodToken : undefined),
    indexerUrl: options.indexerUrl ?? (passedOver ? undefined : network.indexerUrl),
  }
}
