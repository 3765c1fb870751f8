import { publicFetch } from '../../adapters/web/public-fetch.js'
import { type AgentVerdict, type AskedRegistry, agentVerdict } from './agent-verdict.js'

/** Against which registry a card is held. */
export interface VerifyAgentOptions {
  /** Such as {@link algodRegistry} reads. */
  readonly registry: AskedRegistry
  /**
   * What fetches the card. Another one than the default is trusted with whatever URL it is given.
   *
   * @default a fetch that connects to public addresses only
   */
  readonly fetchImpl?: typeof fetch
}

/**
 * Whether a card's agent holds the on-chain identity that the card claims: the card names a registration, and that
 * registration names the card's domain.
 *
 * Never throws. Follows no redirect: whoever a host redirects to is not that host.
 *
 * @param cardUrl `https://<host>/.well-known/agent.json`, or `agent-card.json` there.
 * @param options Which registry.
 */
export function verifyAgent(cardUrl: string | URL, options: VerifyAgentOptions): Promise<AgentVerdict> {
  return agentVerdict(cardUrl, options.registry, options.fetchImpl ?? publicFetch)
}
