/** What a server asks, as its options say: its facilitators, a node and an indexer. */
import { sandboxUrl } from '#platform'
import { SdkError } from '../../../domain/errors.js'
import type { NetworkFacts } from '../../../domain/network.js'
import { type NodeUrls, nodeUrls } from '../../../domain/network-definition.js'
import {
  asGiven,
  holding,
  invalid,
  type Option,
  optional,
  readOptions,
  secretToken,
  such,
} from '../../../domain/option-checks.js'
import type { ProtocolFacilitator } from '../../../ports/facilitator.js'
import type { AdvancedOptions } from './advanced-options.js'

/** The options of {@link ServerOptions} that say what a server asks. */
export interface RemoteOptions {
  /**
   * The facilitator's URL, or several in order of preference. If one answers neither a payment nor a question of our own, quotes
   * and verifications move on to the next; a settlement never does.
   *
   * @default the sandbox of the variable `SVC_SANDBOX`, else the definition's; on a public network `DEFAULT_FACILITATOR`
   */
  readonly facilitatorUrl?: string | FacilitatorElsewhere | readonly (string | FacilitatorElsewhere)[]
  /**
   * A facilitator of your own in this process, made by `createFacilitator`, instead of `facilitatorUrl`. The server does not close
   * it.
   *
   * @default none
   */
  readonly facilitator?: ProtocolFacilitator
  /** An Algorand node, for rounds and proof that payments landed. @default `SVC_SANDBOX`, else the network's own, or a public one */
  readonly algodUrl?: string | NodeElsewhere
}

/** A node that asks for a token. */
export interface NodeElsewhere {
  /** Its URL. */
  readonly url: string
  /** Its API token. @default that of the network's definition for its own node; else none */
  readonly token?: string | undefined
}

/** A facilitator that knows this server. */
export interface FacilitatorElsewhere {
  /** Its URL. */
  readonly url: string
  /**
   * By which it knows this server, as `svc facilitator` does by `SVC_FACILITATOR_TOKEN`: 16 or more visible ASCII characters.
   * It is sent there alone, never to a public host over plain http, and never across a redirect.
   *
   * @default none: the server counts as a stranger there
   */
  readonly token?: string | undefined
}

const ELSEWHERE = {
  url: asGiven<string>(),
  token: optional(secretToken),
} satisfies Record<keyof FacilitatorElsewhere, Option<unknown>>

const facilitators = holding(ELSEWHERE, (given = [], name): readonly FacilitatorElsewhere[] =>
  [given as string | FacilitatorElsewhere].flat().map(each => {
    return typeof each === 'string' ? { url: each } : readOptions(each, ELSEWHERE, name)
  }),
)

const NODE = {
  url: asGiven<string>(),
  token: asGiven<string | undefined>(),
} satisfies Record<keyof NodeElsewhere, Option<unknown>>

const node = holding(NODE, (given, name): NodeElsewhere | undefined => {
  if (given === undefined) return undefined
  if (typeof given === 'string') return { url: given }
  return readOptions(given as NodeElsewhere, NODE, name)
})

const METHODS = ['supported', 'verify', 'settle', 'pays', 'condition', 'check'] as const

const isOwnFacilitator = (given: unknown) =>
  METHODS.every(name => typeof (given as ProtocolFacilitator | null)?.[name] === 'function')

export const REMOTE_OPTIONS = {
  facilitatorUrl: holding(ELSEWHERE, optional(facilitators)),
  facilitator: optional(such<ProtocolFacilitator>(isOwnFacilitator, 'what createFacilitator makes')),
  algodUrl: node,
} satisfies Record<keyof RemoteOptions, Option<unknown>>

export interface Remotes extends NodeUrls {
  /** In order of preference; none where neither the options nor the network name one, or where one is in this process. */
  readonly facilitatorsElsewhere: readonly FacilitatorElsewhere[]
}

type Asked = RemoteOptions & Pick<AdvancedOptions, 'indexerUrl'>

/** The facilitators and the node. `SVC_SANDBOX` replaces both, so an unchanged agent runs offline. */
export function remotesOf(
  options: { readonly [Name in keyof Asked]?: Asked[Name] | undefined },
  network: NetworkFacts,
): Remotes {
  const { facilitator, facilitatorUrl, indexerUrl } = options
  const { url: algodUrl, token: algodToken } = node(options.algodUrl, 'algodUrl') ?? {}
  const sandbox = sandboxUrl()
  if (facilitator && facilitatorUrl !== undefined)
    throw invalid('facilitator and facilitatorUrl are two ways to settle: give one of them')
  const mainnet = 'SVC_SANDBOX is set, and a sandbox is never mainnet: name no network, or testnet'
  if (sandbox && !facilitator && facilitatorUrl === undefined && network.name === 'mainnet')
    throw new SdkError(mainnet, 'invalid_network')
  return {
    facilitatorsElsewhere: facilitator
      ? []
      : facilitators(facilitatorUrl ?? sandbox ?? network.facilitatorUrl, 'facilitatorUrl'),
    ...nodeUrls(network, { algodUrl, algodToken, indexerUrl }, sandbox),
  }
}
