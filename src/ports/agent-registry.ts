import type { RegisteredAgent, RegistryApps, Score } from '../domain/registered-agent.js'

/**
 * Reads the on-chain registry. Its records are what an agent registered, not a proof: an id is bound to a domain and
 * an address, and only that domain's own card can confirm this (`verifyAgent`).
 *
 * `undefined` means that the chain holds no such record. If the node does not answer, the method rejects
 * (`node_unavailable`) and never returns an empty result: an outage must not look like "not registered".
 */
export interface Registry {
  /** The registry applications that it reads. */
  readonly apps: RegistryApps & { readonly identityApp: number }
  /** The agent of this id. */
  byId(agentId: bigint): Promise<RegisteredAgent | undefined>
  /** The agent registered for this domain. */
  byDomain(domain: string): Promise<RegisteredAgent | undefined>
  /** The agent registered from this address. */
  byAddress(address: string): Promise<RegisteredAgent | undefined>
  /** The agent's score; `undefined` for an agent that was never paid, and where no reputation application is configured. */
  score(agentId: bigint): Promise<Score | undefined>
  /** All agents, by id. The result is shared and cached for some seconds: strangers may ask for it without paying. */
  list(): Promise<readonly RegisteredAgent[]>
  /** All scores, by the agent's id. Shared and cached as the list is. */
  scores(): Promise<ReadonlyMap<bigint, Score>>
  /** Closes the connections to the node. */
  close(): Promise<void>
}
