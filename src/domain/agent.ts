/** An agent: who is paid, on which network, for which endpoints. */
import { type EndpointDef, endpoint } from './endpoint.js'
import { everyName, formerNames } from './endpoint-lifecycle.js'
import { SvcError, shown } from './errors.js'
import type { Network, NetworkName } from './network.js'
import { networkFacts } from './network-definition.js'
import { asGiven, listOf, type Option, present, readDefinition, such } from './option-checks.js'
import { methodsOf, pathOfEndpoint, shapeOf } from './path-pattern.js'
import {
  isLabel,
  type Merchant,
  merchantOption,
  type QuoteExtra,
  quoteExtra,
  SERVICE,
} from './quote-fields.js'
import { isAddress, isText } from './untrusted-text.js'
import { type BalanceTerms, balanceEndpoint, soldBalance, takesBalance } from './window-and-balance-terms.js'

/** The options of {@link defineAgent}. */
export interface AgentOptions {
  /** The name, for people. */
  readonly name: string
  /** 3 to 40 lowercase letters, digits and hyphens; unique on the network. */
  readonly handle: string
  /**
   * The handles that it had before, the first one first. What was sold under the first one stays: windows, kept answers, tasks.
   *
   * @default none
   */
  readonly formerly?: readonly string[]
  /** What the agent does, in one line. */
  readonly description: string
  /** The agent's own version. @default '0.1.0' */
  readonly version?: string
  /** Its skills, in your own words; the manifest lists them. @default none */
  readonly skills?: readonly string[]
  /**
   * The Algorand address that receives payments: 58 base32 characters, opted in to USDC. Its type lets an environment
   * variable pass; an address that is missing or malformed is refused at once.
   */
  readonly payTo: string | undefined
  /**
   * The network that it is paid on: `mainnet`, `testnet` or a definition; checked at once.
   *
   * @default 'mainnet'; with the environment variable `SVC_SANDBOX` set, 'testnet'
   */
  readonly network?: Network | NetworkName | undefined
  /** At least one, each from {@link defineEndpoint}. */
  readonly endpoints: readonly EndpointDef[]
  /**
   * Sells balances besides: money that is paid at once, from which calls take what they cost. It adds the endpoint `balance`.
   *
   * @default none
   *
   * @example
   * balance: { amounts: ['$1', '$5', '$20'], period: '90d' }
   */
  readonly balance?: BalanceTerms
  /** The service's name in quotes, as indexes show it: 1 to 32 printable ASCII characters. @default `name`, where it fits */
  readonly serviceName?: string
  /** The address of the service's picture in quotes, an absolute URL, for indexes. @default none */
  readonly iconUrl?: string
  /**
   * Who sells, as indexes list the seller: the extension `x402-merchant` of every 402.
   *
   * @default none: indexes look for the seller's name at the origin's landing page
   *
   * @example
   * merchant: { name: 'Harbour Data', website: 'https://harbour.example', categories: ['weather'] }
   */
  readonly merchant?: Merchant
  /**
   * Fields that every quote has in `accepts[].extra`, such as the tag that an index counts by: text, finite numbers or
   * booleans. An endpoint's own win over them. The names that the protocol uses are refused: `feePayer`, `decimals`,
   * `name`, `version`, `paymentFlow`, `assetTransferMethod`.
   *
   * @default none
   *
   * @example
   * extra: { tag: 'x402-global-challenge' }
   */
  readonly extra?: QuoteExtra
  /** Reserved: the package does not read it, and every value is valid. */
  readonly bidsOn?: unknown
}

type Optional = 'formerly' | 'balance' | 'serviceName' | 'iconUrl' | 'merchant' | 'extra'

/** A checked agent, with its defaults filled in. */
export interface AgentDef extends Required<Omit<AgentOptions, Optional>>, Pick<AgentOptions, Optional> {
  /** The Algorand address that receives payments. */
  readonly payTo: string
  /** The network that it is paid on. */
  readonly network: Network
}

const HANDLE = /^[a-z0-9-]{3,40}$/

const OPTIONS = {
  name: such<string>(isText, 'a text'),
  ...{ handle: asGiven<string>(), endpoints: asGiven<unknown>(), bidsOn: asGiven<unknown>() },
  formerly: formerNames(HANDLE),
  description: such<string>(isText, 'a text'),
  version: such<string>(isText, 'a text', '0.1.0'),
  skills: listOf(skill => typeof skill === 'string', 'a list of texts', []),
  payTo: asGiven<string | undefined>(),
  network: asGiven<AgentOptions['network']>(),
  balance: soldBalance,
  ...SERVICE,
  merchant: merchantOption,
  extra: quoteExtra,
} satisfies Record<keyof AgentOptions, Option<unknown>>

/**
 * Checks an agent and fills in its defaults.
 *
 * @throws SvcError `invalid_agent`, `invalid_handle`, `invalid_address`, `duplicate_endpoint`, and an endpoint's own
 * codes
 */
export function agent(options: AgentOptions): AgentDef {
  if (!Array.isArray(options.endpoints) || options.endpoints.length === 0)
    throw new SvcError('An agent needs at least one endpoint', 'invalid_agent')
  return agentOf(options, options.endpoints)
}

export function agentOf(
  options: Omit<AgentOptions, 'endpoints'>,
  endpoints: readonly EndpointDef[],
): AgentDef {
  const refuse = (why: string, code = 'invalid_agent'): never => {
    throw new SvcError(why, code)
  }
  const read = readDefinition(options, OPTIONS, why => refuse(`the definition of the agent: ${why}`))
  const { name, handle, payTo, balance, bidsOn, serviceName = isLabel(name) ? name : undefined } = read
  const noHandle = `A handle is 3 to 40 lowercase letters, digits and hyphens, not ${shown(handle)}`
  if (typeof handle !== 'string' || !HANDLE.test(handle)) refuse(noHandle, 'invalid_handle')
  if (payTo === undefined || (payTo as unknown) === '')
    refuse('payTo is missing: is the environment variable set?', 'invalid_address')
  const noAddress = `payTo is an Algorand address of 58 base32 characters, not ${shown(payTo)}`
  if (!isAddress(payTo)) return refuse(noAddress, 'invalid_address')
  const network = networkFacts(read.network ?? 'mainnet', refuse).given
  // A checked agent that is checked again has the endpoint that sells balances already.
  const checked = endpoints.filter(({ sells }) => sells === undefined).map(def => endpoint(def as never))
  for (const def of checked)
    if (def.only && !takesBalance(balance, def))
      refuse(`Endpoint '${def.name}' takes a balance only, and the agent sells none`)
  if (balance)
    checked.push(Object.freeze({ ...endpoint(balanceEndpoint(balance) as never), sells: 'balance' }))
  refuseDuplicates(checked)
  return Object.freeze(
    present({
      ...read,
      payTo,
      network,
      serviceName,
      endpoints: Object.freeze(checked),
      bidsOn: Object.freeze(Array.isArray(bidsOn) ? [...bidsOn] : []),
    }),
  )
}

/** Refuses two endpoints that have or had one name, and two at one method and path: neither is more specific. */
export function refuseDuplicates(endpoints: readonly EndpointDef[]): void {
  const names = new Set<string>()
  const taken = new Map<string, string>()
  for (const def of endpoints) {
    for (const name of new Set(everyName(def.name, def.formerly))) {
      if (names.has(name)) throw duplicate(`Two endpoints are or were named '${name}'`)
      names.add(name)
    }
    const path = pathOfEndpoint(def)
    for (const method of methodsOf(def)) {
      const route = `${method} ${shapeOf(path)}`
      const other = taken.get(route)
      if (other !== undefined)
        throw duplicate(`The endpoints '${other}' and '${def.name}' are both at ${method} ${path}`)
      taken.set(route, def.name)
    }
  }
}

function duplicate(why: string): SvcError {
  return new SvcError(why, 'duplicate_endpoint')
}
