import { type AgentVerdict, type AskedRegistry, agentVerdict } from './agent-verdict.js'

/** Against which registry a card is held. */
export interface VerifyAgentOptions {
  /** Such as {@link algodRegistry} reads. */
  readonly registry: AskedRegistry
  /**
   * What fetches the card. A card's host must allow other origins to read it, as agents of this SDK do.
   *
   * @default the global fetch: what a page may reach is for its browser to say
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
  return agentVerdict(cardUrl, options.registry, options.fetchImpl)
}
