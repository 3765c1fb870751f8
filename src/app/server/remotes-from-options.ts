/** What a server asks, as its options say: its facilitators, a node and an indexer. */
import { sandboxUrl } from '#platform'
import { facilitatorInProcess } from '../../adapters/facilitator/in-process.js'
import {
  FACILITATOR_CONNECTIONS_MAX,
  type X402Facilitator,
  x402Facilitator,
} from '../../adapters/facilitator/x402-facilitator.js'
import type { AgentDef } from '../../domain/agent.js'
import { SvcError, shown } from '../../domain/errors.js'
import type { NetworkFacts } from '../../domain/network.js'
import { type NodeUrls, nodeUrls } from '../../domain/network-definition.js'
import {
  asGiven,
  flag,
  invalid,
  type Option,
  optional,
  positive,
  type ReadOptions,
  readOptions,
  secretToken,
} from '../../domain/options.js'
import type { Logger } from '../../ports/logger.js'
import type { ProtocolFacilitator } from '../../ports/protocol-facilitator.js'
import { randomId } from '../../ports/random.js'
import type { Rules } from '../charge/charge-deps.js'
import type { PlatformServices } from './platform-services.js'

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

const ownFacilitatorGiven: Option<ProtocolFacilitator | undefined> = given => {
  const own = given as ProtocolFacilitator | undefined
  if (own === undefined || METHODS.every(name => typeof own?.[name] === 'function')) return own
  throw invalid(`facilitator is what createFacilitator makes, not ${shown(own)}`)
}

export const REMOTE_OPTIONS = {
  facilitatorUrl: optional(facilitators),
  facilitator: ownFacilitatorGiven,
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

interface Asking extends Remotes, Omit<ReadOptions<typeof REMOTE_OPTIONS>, keyof Remotes> {
  readonly agent: AgentDef
  readonly network: NetworkFacts
  readonly rules: Rules
  readonly logger: Logger
}

type Facilitators = readonly [X402Facilitator, ...X402Facilitator[]]

/** @throws SvcError `invalid_options`, `invalid_facilitator` */
export function facilitatorsOf(
  settings: Asking,
  { clock, random, exchange }: PlatformServices,
): Facilitators {
  const { network, facilitator, facilitatorsElsewhere, allowHttp, logger, rules } = settings
  const askerId = randomId(random)
  if (facilitator) return [ownFacilitator(facilitator, settings, askerId)]
  const [first, ...others] = facilitatorsElsewhere.map(({ url, token }) =>
    x402Facilitator({
      url,
      token,
      network,
      allowHttp,
      connectionsMax: settings.maxFacilitatorConnections,
      askerId,
      // Facilitators are asked one after the other, so their timeouts add up.
      verifyTimeoutMs: Math.ceil(rules.timeouts.verifyMs / facilitatorsElsewhere.length),
      settleTimeoutMs: rules.timeouts.settleMs,
      logger,
      clock,
      exchange,
    }),
  )
  if (first === undefined) throw new SvcError('facilitatorUrl names no facilitator', 'invalid_options')
  return [first, ...others]
}

/** An agent whose payments its facilitator refuses must not start: it would only find out when a buyer pays. */
function ownFacilitator(
  own: ProtocolFacilitator,
  { agent, network }: Asking,
  askerId: string,
): X402Facilitator {
  const inProcess = facilitatorInProcess(own, network, askerId)
  if (!inProcess) {
    throw new SvcError(`The facilitator does not settle on ${network.name}`, 'invalid_facilitator')
  }
  if (own.pays(agent.payTo)) return inProcess
  throw new SvcError(
    `The facilitator does not settle payments to ${agent.payTo}: list it in payTo`,
    'invalid_facilitator',
  )
}
