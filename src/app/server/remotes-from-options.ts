/** The options that say what a server asks: its facilitators, a node and an indexer. */
import { sandboxUrl } from '#platform'
import { FACILITATOR_CONNECTIONS_MAX } from '../../adapters/facilitator/x402-facilitator.js'
import { shown } from '../../domain/errors.js'
import type { NetworkFacts } from '../../domain/network.js'
import { type NodeUrls, nodeUrls } from '../../domain/node-urls.js'
import {
  asGiven,
  flag,
  invalid,
  type Option,
  optional,
  positive,
  readOptions,
  secretToken,
} from '../../domain/options.js'
import type { ProtocolFacilitator } from '../../ports/protocol-facilitator.js'

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
  /** Accept a facilitator on plain http at a public host. @default false */
  readonly allowHttp?: boolean
  /**
   * The most connections of this process to each facilitator. A payment that settles holds one until the chain has it, for about 4 s:
   * 512 are enough for some 120 payments a second. More payments wait.
   *
   * @default 512
   */
  readonly maxFacilitatorConnections?: number
  /** An Algorand node, for rounds and proof that payments landed. @default `SVC_SANDBOX`, else the network's own, or a public one */
  readonly algodUrl?: string
  /** The API token of the node. @default that of the network's definition for its own node; else none */
  readonly algodToken?: string
  /**
   * An indexer, for proof of payments that landed too long ago for a node.
   *
   * @default that of the network's definition, unless `SVC_SANDBOX` replaces the node; else a public one, where neither
   * `SVC_SANDBOX` nor `algodUrl` does
   */
  readonly indexerUrl?: string
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

const facilitators: Option<readonly FacilitatorElsewhere[]> = (given = [], name) =>
  [given as string | FacilitatorElsewhere].flat().map(each => {
    return typeof each === 'string' ? { url: each } : readOptions(each, ELSEWHERE, name)
  })

const METHODS = ['supported', 'verify', 'settle', 'pays', 'condition', 'check'] as const

const facilitatorInProcess: Option<ProtocolFacilitator | undefined> = given => {
  const own = given as ProtocolFacilitator | undefined
  if (own === undefined || METHODS.every(name => typeof own?.[name] === 'function')) return own
  throw invalid(`facilitator is what createFacilitator makes, not ${shown(own)}`)
}

export const REMOTE_OPTIONS = {
  facilitatorUrl: optional(facilitators),
  facilitator: facilitatorInProcess,
  allowHttp: flag(false),
  maxFacilitatorConnections: positive(FACILITATOR_CONNECTIONS_MAX),
  algodUrl: asGiven<string | undefined>(),
  algodToken: asGiven<string | undefined>(),
  indexerUrl: asGiven<string | undefined>(),
} satisfies Record<keyof RemoteOptions, Option<unknown>>

export interface Remotes extends NodeUrls {
  /** In order of preference; none where neither the options nor the network name one, or where one is in this process. */
  readonly facilitatorsElsewhere: readonly FacilitatorElsewhere[]
}

/** The facilitators and the node. `SVC_SANDBOX` replaces both, so an unchanged agent runs offline. */
export function remotesOf(
  options: { readonly [Name in keyof RemoteOptions]?: RemoteOptions[Name] | undefined },
  network: NetworkFacts,
): Remotes {
  const { facilitator, facilitatorUrl } = options
  const sandbox = sandboxUrl()
  if (facilitator && facilitatorUrl !== undefined)
    throw invalid('facilitator and facilitatorUrl are two ways to settle: give one of them')
  return {
    facilitatorsElsewhere: facilitator
      ? []
      : facilitators(facilitatorUrl ?? sandbox ?? network.facilitatorUrl, 'facilitatorUrl'),
    ...nodeUrls(network, options, sandbox),
  }
}
