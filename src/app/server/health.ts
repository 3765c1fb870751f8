/** Whether the process is well (`/health`), and whether calls should be sent to it now (`/ready`). */
import type { X402Facilitator } from '../../adapters/facilitator/x402-facilitator.js'
import type { AgentDef } from '../../domain/agent.js'
import { CAIP2 } from '../../domain/network.js'
import type { World } from '../charge/world.js'
import { type HealthCheck, type NamedChecks, namedChecks } from './checks.js'

const CHECK_TIMEOUT_MS = 2_000

export interface ConditionOptions {
  readonly agent: AgentDef
  readonly facilitators: readonly [X402Facilitator, ...X402Facilitator[]]
  readonly world: World
  readonly healthChecks: NamedChecks
  /** How the journal is doing; `undefined` where there is none. */
  readonly journal?: () => object | undefined
}

/** A body, and whether it is good news. */
export interface Condition {
  readonly ok: boolean
  readonly [field: string]: unknown
}

/**
 * Speaks of the process and its own checks. A facilitator that is down, a node of another network or a journal that cannot
 * be written is told and is no failure: to restart the process, which is what follows from bad health, would not mend it, and
 * would lose what waits for the journal.
 */
export function healthOf({ agent, facilitators, world, healthChecks, journal }: ConditionOptions) {
  const ask = namedChecks(healthChecks, { ...world, timeoutMs: CHECK_TIMEOUT_MS })
  const named = Object.keys(healthChecks).length > 0
  return async (): Promise<Condition> => {
    const checks = await ask()
    return {
      ok: Object.values(checks).every(result => result === 'ok'),
      agent: agent.handle,
      payTo: agent.payTo,
      facilitator: facilitators[0].url,
      network: CAIP2[agent.network],
      facilitators: facilitators.map(({ url, status }) => ({ url, ...status })),
      node: world.chain.status(),
      ...(journal && { journal: journal() }),
      ...(named && { checks }),
    }
  }
}

/** Why a call that was sent here now would be refused. */
const REASONS = {
  shutting_down: 'The server is shutting down.',
  store_unavailable: 'The store that guards against double charges does not answer.',
  subscriptions_unavailable: 'The store of subscription windows does not answer.',
  facilitator_unavailable: 'The facilitator has not answered anything yet.',
  wrong_network: 'The Algorand node is of another network, so no settlement could be proven.',
} as const

type Reason = keyof typeof REASONS

export function readinessOf({ agent, facilitators, world }: ConditionOptions) {
  const sells = agent.endpoints.some(({ subscription }) => subscription !== undefined)
  const questions: Readonly<Record<Reason, HealthCheck>> = {
    shutting_down: () => !world.stop.draining(),
    store_unavailable: () => touch(world),
    subscriptions_unavailable: sells ? () => touchWindows(world) : () => true,
    facilitator_unavailable: () => facilitators.some(({ status }) => status.answered),
    // One that only does not answer leads to none of its words being used, as a server without a node would.
    wrong_network: () => world.chain.status() !== 'wrongNetwork',
  }
  const ask = namedChecks(questions, { ...world, timeoutMs: CHECK_TIMEOUT_MS })
  return async (): Promise<Condition> => {
    const answers = Object.entries(await ask()) as [Reason, string][]
    const why = answers
      .filter(([, result]) => result !== 'ok')
      .map(([code]) => ({ code, message: REASONS[code] }))
    return why.length === 0 ? { ok: true } : { ok: false, why }
  }
}

/** One round trip that changes nothing: a close is a no-op for whatever does not bear its token. */
async function touch({ store, random }: World): Promise<void> {
  await store.close({ slot: 'ready', token: random.uuid(), payment: 'ready', how: 'release', windowMs: 0 })
}

async function touchWindows({ subscriptions }: World): Promise<void> {
  await subscriptions.get('ready')
}
