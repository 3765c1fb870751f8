/** The on-chain registry: the domains that agents claim, their addresses, and the payments that were counted for them. */
import { isAddress } from './untrusted-text.js'

/** An agent in the registry. Anyone may register anything: see {@link verifyAgent}. */
export interface RegisteredAgent {
  /** Its id in the registry. */
  readonly agentId: bigint
  /** The registered text. A stranger chose it, and it need not be a host. */
  readonly domain: string
  /** The Algorand address that registered it. */
  readonly address: string
  /** Seconds since the epoch. */
  readonly registeredAt: number
  /** Seconds since the epoch. */
  readonly updatedAt: number
}

/** The reputation application's counts. */
export interface Score {
  /** The agent's id. */
  readonly agentId: bigint
  /** How many payments were counted. */
  readonly jobsPaid: bigint
  /** Their sum, in base units of USDC. */
  readonly volumeMicro: bigint
  /** How many jobs validators confirmed. */
  readonly validated: bigint
  /** How many jobs were disputed. */
  readonly disputed: bigint
  /** Seconds since the epoch. */
  readonly firstAt: number
  /** Seconds since the epoch. */
  readonly lastAt: number
}

/** The applications that hold a registry. Every deployment has other ids, so they are configured, never constants. */
export interface RegistryApps {
  /** The id of the application that holds the registered agents. */
  readonly identityApp?: number
  /** The id of the application that holds their scores. */
  readonly reputationApp?: number
  /** The id of the application that holds validations. */
  readonly validationApp?: number
}

/** An agent's own entry in the registry. */
export interface RegistryIdentity extends RegistryApps {
  /** The agent's id; absent until it is registered. */
  readonly agentId?: number
}

const CARD_PATH = '/.well-known/agent.json'

/** The URL of a domain's card; `null` where the registered text is not a host. */
export function cardUrlOf(domain: string): string | null {
  return hostOf(domain) === undefined ? null : `https://${domain}${CARD_PATH}`
}

/** The host that a registered domain names, as URLs spell it. */
export function hostOf(domain: string): string | undefined {
  if (!URL.canParse(`https://${domain}/`)) return undefined
  const { host, href } = new URL(`https://${domain}/`)
  return href === `https://${host}/` && /^[^\s/\\?#@]+$/.test(domain) ? host : undefined
}

/**
 * Filters agents. Blank: all. Digits: the agent of that id first. An address: its agent. Any other text, and digits
 * too: part of a domain.
 */
export function matching(
  agents: readonly RegisteredAgent[],
  query: string,
  limit: number,
): readonly RegisteredAgent[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return agents.slice(0, limit)
  const address = wanted.toUpperCase()
  const isExact = isAddress(address)
    ? (agent: RegisteredAgent) => agent.address === address
    : ({ agentId }: RegisteredAgent) => agentId.toString() === wanted
  const exact: RegisteredAgent[] = []
  const partial: RegisteredAgent[] = []
  for (const agent of agents) {
    if (isExact(agent)) exact.push(agent)
    else if (agent.domain.toLowerCase().includes(wanted)) partial.push(agent)
  }
  return [...exact, ...partial].slice(0, limit)
}
