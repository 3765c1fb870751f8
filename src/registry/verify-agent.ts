/**
 * Does a card's agent hold the identity that it claims? A registration is a claim to a domain, a card is a claim to a
 * registration: only both together, pointing at each other, bind a domain to an on-chain address.
 */
import { guardedFetch } from '#platform'
import { exchangeOver, isSuccess, recordOf } from '../app/client/http-reply.js'
import { CARD_PATHS } from '../domain/agent-card.js'
import { shown } from '../domain/errors.js'
import { refuseUnknown } from '../domain/option-checks.js'
import { hostOf, type RegisteredAgent } from '../domain/registered-agent.js'
import { isRecord, listIn, memberAt, recordAt } from '../domain/x402.js'
import type { Registry } from '../ports/agent-registry.js'
import { wakefulClock } from '../ports/clock.js'

/** The part of a registry that a verdict needs. */
export type AskedRegistry = Pick<Registry, 'byId' | 'apps'>

/** What `verifyAgent` found. */
export type AgentVerdict =
  | {
      /** Card and registration point at each other. */
      readonly verified: true
      /** The registration that the card names. */
      readonly agent: RegisteredAgent
      /** Whether the card is paid at the address that registered it; other addresses are allowed. */
      readonly paysRegisteredAddress: boolean
    }
  | { readonly verified: false; readonly reason: Unverified; readonly message: string }

/**
 * Why an agent is not who its card says, or why that is not known.
 *
 * - `invalid_url`: not the https URL of a card, at one of its two well-known paths
 * - `card_unreachable`: its host did not answer, or not with a card
 * - `no_claim`: no card, or one that claims no identity
 * - `other_registry`: it claims one in another registry than the one that is asked
 * - `not_registered`: the chain knows no such id
 * - `other_domain`: the id is another domain's
 * - `registry_unavailable`: the node does not answer, so that nothing is known
 */
export type Unverified =
  | 'invalid_url'
  | 'card_unreachable'
  | 'no_claim'
  | 'other_registry'
  | 'not_registered'
  | 'other_domain'
  | 'registry_unavailable'

const TIMEOUT_MS = 10_000

/** Against which registry a card is checked. */
export interface VerifyAgentOptions {
  /** The registry that {@link algodRegistry} reads, or one with the same methods. */
  readonly registry: AskedRegistry
  /**
   * Fetches the card. A fetch of your own is trusted with every URL that it gets. In a browser, the card's host must allow
   * other origins to read it, as agents of this SDK do.
   *
   * @default in Node a fetch that connects to public addresses only; in a browser the global fetch; on Bun, Deno and Workers
   * none, because no fetch there can refuse private addresses: the verdict is `card_unreachable`
   */
  readonly fetchImpl?: typeof fetch
}

/**
 * Whether a card's agent holds the on-chain identity that the card claims: the card names a registration, and that
 * registration names the card's domain.
 *
 * Throws for a misspelt option alone (`invalid_options`). Follows no redirect: the target of a redirect is another host.
 *
 * @param cardUrl `https://<host>/.well-known/agent.json`, or `agent-card.json` there.
 * @param options Which registry.
 *
 * @example
 * const registry = algodRegistry({ network: 'testnet', identityApp })
 * const verdict = await verifyAgent('https://agent.example/.well-known/agent.json', { registry })
 * if (verdict.verified) console.log(verdict.agent.address)
 */
export async function verifyAgent(cardUrl: string | URL, options: VerifyAgentOptions): Promise<AgentVerdict> {
  refuseUnknown(options, ['registry', 'fetchImpl'])
  const { registry, fetchImpl } = options
  const url = URL.canParse(String(cardUrl)) ? new URL(String(cardUrl)) : undefined
  // Any other path may belong to a stranger: hosts let users upload files.
  const isAtHome = CARD_PATHS.some(path => path === url?.pathname)
  if (url?.protocol !== 'https:' || url.username || url.password || !isAtHome)
    return unverified('invalid_url', `A card is at https://<host>${CARD_PATHS[0]}`)
  const request = { url, method: 'GET', headers: { accept: 'application/json' } }
  const sent = await exchangeOver(fetchImpl ?? guardedFetch, wakefulClock)(request, TIMEOUT_MS)
  if (sent.kind === 'lost')
    return unverified('card_unreachable', `${url.host} did not answer (${sent.cause})`)
  const { reply } = sent
  if (!isSuccess(reply) || reply.oversized)
    return unverified('card_unreachable', `${url.host} answered ${reply.status} instead of a card`)
  const claim = claimIn(recordOf(reply))
  if (!claim) return unverified('no_claim', 'The card claims no identity on chain')
  if (claim.identityApp !== registry.apps.identityApp)
    return unverified(
      'other_registry',
      `The card names application ${shown(claim.identityApp)}, which is not the one asked`,
    )
  return verified(url, claim, registry)
}

interface Claim {
  readonly agentId: number
  readonly identityApp: unknown
  readonly payTo: unknown
}

async function verified(
  url: URL,
  { agentId, payTo }: Claim,
  registry: Pick<Registry, 'byId'>,
): Promise<AgentVerdict> {
  let agent: RegisteredAgent | undefined
  try {
    agent = await registry.byId(BigInt(agentId))
  } catch (cause) {
    return unverified('registry_unavailable', cause instanceof Error ? cause.message : String(cause))
  }
  if (!agent) return unverified('not_registered', `No agent is registered under ${agentId}`)
  if (hostOf(agent.domain) !== url.host)
    return unverified('other_domain', `Agent ${agentId} is registered for another domain than ${url.host}`)
  return { verified: true, agent, paysRegisteredAddress: payTo === agent.address }
}

/** Extensions are found by the end of their URIs: each maker chooses the base. */
function claimIn(card: Record<string, unknown> | undefined): Claim | undefined {
  const extensions = listIn(memberAt(card, 'capabilities', 'extensions')).filter(isRecord)
  const params = (name: string): Record<string, unknown> => {
    const found = extensions.find(({ uri }) => typeof uri === 'string' && uri.endsWith(`/a2a/ext/${name}/v1`))
    return recordAt(found, 'params') ?? {}
  }
  const { agentId, identityApp } = params('registry')
  if (typeof agentId !== 'number' || !Number.isSafeInteger(agentId) || agentId < 1) return undefined
  return { agentId, identityApp, payTo: params('x402').payTo }
}

function unverified(reason: Unverified, message: string): AgentVerdict {
  return { verified: false, reason, message }
}
