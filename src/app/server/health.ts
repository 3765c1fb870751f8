/** Whether the process is well (`/health`), and whether calls should be sent to it now (`/ready`). */
import type { X402Facilitator } from '../../adapters/facilitator/x402-facilitator.js'
import type { AgentDef } from '../../domain/agent.js'
import { CAIP2 } from '../../domain/network.js'
import type { Clock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import { withTimeout } from '../../ports/waiting.js'
import type { ChargeDeps } from '../charge/deps.js'

const CHECK_TIMEOUT_MS = 2_000

export interface HealthOptions {
  readonly agent: AgentDef
  readonly facilitators: readonly [X402Facilitator, ...X402Facilitator[]]
  readonly deps: ChargeDeps
  readonly healthChecks: NamedChecks
  /** How the journal is doing; `undefined` where there is none. */
  readonly journal?: () => object | undefined
}

/** A body, and whether it is good news. */
export interface HealthReport {
  readonly ok: boolean
  readonly [field: string]: unknown
}

/**
 * Speaks of the process and its own checks. A facilitator that is down, a node of another network or a journal that cannot
 * be written is told and is no failure: to restart the process, which is what follows from bad health, would not mend it, and
 * would lose what waits for the journal.
 */
export function healthOf({ agent, facilitators, deps, healthChecks, journal }: HealthOptions) {
  const ask = namedChecks(healthChecks, { ...deps, timeoutMs: CHECK_TIMEOUT_MS })
  const named = Object.keys(healthChecks).length > 0
  return async (): Promise<HealthReport> => {
    const checks = await ask()
    return {
      ok: Object.values(checks).every(result => result === 'ok'),
      agent: agent.handle,
      payTo: agent.payTo,
      facilitator: facilitators[0].url,
      network: CAIP2[agent.network],
      facilitators: facilitators.map(({ url, status }) => ({ url, ...status })),
      node: deps.chain.status(),
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

export function readinessOf({ agent, facilitators, deps }: HealthOptions) {
  const sells = agent.endpoints.some(({ subscription }) => subscription !== undefined)
  const questions: Readonly<Record<Reason, HealthCheck>> = {
    shutting_down: () => !deps.stop.draining(),
    store_unavailable: () => touch(deps),
    subscriptions_unavailable: sells ? () => touchWindows(deps) : () => true,
    facilitator_unavailable: () => facilitators.some(({ status }) => status.answered),
    // One that only does not answer leads to none of its words being used, as a server without a node would.
    wrong_network: () => deps.chain.status() !== 'wrongNetwork',
  }
  const ask = namedChecks(questions, { ...deps, timeoutMs: CHECK_TIMEOUT_MS })
  return async (): Promise<HealthReport> => {
    const answers = Object.entries(await ask()) as [Reason, string][]
    const why = answers
      .filter(([, result]) => result !== 'ok')
      .map(([code]) => ({ code, message: REASONS[code] }))
    return why.length === 0 ? { ok: true } : { ok: false, why }
  }
}

/** One round trip that changes nothing: a close is a no-op for whatever does not bear its token. */
async function touch({ store, random }: ChargeDeps): Promise<void> {
  await store.close({ slot: 'ready', token: random.uuid(), payment: 'ready', how: 'release', retentionMs: 0 })
}

async function touchWindows({ subscriptions }: ChargeDeps): Promise<void> {
  await subscriptions.get('ready')
}

/** Fails by answering `false`, by throwing, by rejecting, or by taking too long. */
export type HealthCheck = () => unknown

type NamedChecks = Readonly<Record<string, HealthCheck>>

export type CheckResult = 'ok' | 'failed' | 'timed_out'

interface ChecksOptions {
  readonly timeoutMs: number
  readonly logger: Logger
  readonly clock: Pick<Clock, 'after'>
}

/** Asks all of them at once. Why one failed is logged and not answered: its words may name hosts and users. */
export function namedChecks(
  checks: NamedChecks,
  options: ChecksOptions,
): () => Promise<Readonly<Record<string, CheckResult>>> {
  const asked = Object.entries(checks).map(
    ([name, check]) => [name, oneAtATime(name, check, options)] as const,
  )
  return async () =>
    Object.fromEntries(await Promise.all(asked.map(async ([name, ask]) => [name, await ask()])))
}

/** Whoever asks while a check is at work joins it: many requests for health, or a check that hangs, are one check. */
function oneAtATime(name: string, check: HealthCheck, { timeoutMs, logger, clock }: ChecksOptions) {
  let running: Promise<CheckResult> | undefined
  const run = async (): Promise<CheckResult> => {
    try {
      return (await check()) === false ? 'failed' : 'ok'
    } catch (err) {
      logger.warn({ err, check: name }, 'a check failed')
      return 'failed'
    }
  }
  return (): Promise<CheckResult> => {
    running ??= run().finally(() => {
      running = undefined
    })
    return withTimeout(clock, timeoutMs, running).catch(() => 'timed_out' as const)
  }
}
