import type { RegisteredAgent, RegistryApps, Score } from '../domain/registry.js'

/**
 * Reads the on-chain registry. What it answers is what somebody registered, not what is true of them: an id is bound to a
 * domain and an address, and only that domain's own card can point back (`verifyAgent`).
 *
 * `undefined` says that the chain holds no such record. A node that does not answer is a rejection (`node_unavailable`),
 * never an empty answer: nobody must take an outage for "not registered".
 */
export interface Registry {
  /** The applications that are read. */
  readonly apps: RegistryApps & { readonly identityApp: number }
  /** The agent of this id. */
  byId(agentId: bigint): Promise<RegisteredAgent | undefined>
  /** The agent registered for this domain. */
  byDomain(domain: string): Promise<RegisteredAgent | undefined>
  /** The agent registered from this address. */
  byAddress(address: string): Promise<RegisteredAgent | undefined>
  /** `undefined` for an agent that was never paid, and where no reputation application is configured. Kept for seconds. */
  score(agentId: bigint): Promise<Score | undefined>
  /** Everybody, by id. Shared and kept for some seconds: strangers may ask for it without paying. */
  list(): Promise<readonly RegisteredAgent[]>
  /** Ends its connections to the node. */
  close(): Promise<void>
}
