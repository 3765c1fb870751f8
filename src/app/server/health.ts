/** Whether the process is healthy (`/health`), and whether it can accept calls now (`/ready`). */
import type { X402Facilitator } from '../../adapters/facilitator/x402-facilitator.js'
import type { Condition } from '../../adapters/http/free-routes.js'
import { listensAt } from '../../adapters/outbound/upstream-exchange.js'
import type { AgentDef } from '../../domain/agent.js'
import { sharedQuestions } from '../../domain/load-once.js'
import type { Hold } from '../../ports/charge-store.js'
import { type Clock, withTimeout } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import type { ChargeDeps } from '../charge/charge-deps.js'

const CHECK_TIMEOUT_MS = 2_000

export interface HealthOptions {
  readonly agent: AgentDef
  readonly facilitators: readonly [X402Facilitator, ...X402Facilitator[]]
  readonly deps: ChargeDeps
  readonly healthChecks: NamedChecks
  readonly journal?: () => object | undefined
}

/**
 * Reports on the process and the seller's own checks. A facilitator that is down, a node of another network or a
 * journal that cannot be written appears in the report, but does not make it unhealthy. An unhealthy process is
 * restarted: a restart would not fix these, and would lose what waits for the journal.
 */
export function healthOf({ agent, facilitators, deps, healthChecks, journal }: HealthOptions) {
  const ask = namedChecks(healthChecks, { ...deps, timeoutMs: CHECK_TIMEOUT_MS })
  return async (): Promise<Condition> => {
    // Node keeps a module that could not be loaded as it is: only a restart helps.
    const isLoaded = deps.reader().then(
      () => true,
      () => false,
    )
    const checks = await ask()
    return {
      ok: (await isLoaded) && Object.values(checks).every(result => result === 'ok'),
      agent: agent.handle,
      payTo: agent.payTo,
      facilitator: facilitators[0].url,
      network: deps.owner.network.caip2,
      facilitators: facilitators.map(({ url, status }) => ({ url, ...status })),
      node: deps.chain.status(),
      ...(journal && { journal: journal() }),
      ...(Object.keys(checks).length > 0 && { checks }),
    }
  }
}

/** The reasons for which a call that arrives now would be refused. */
const REASONS = {
  shutting_down: 'The server is shutting down.',
  store_unavailable: 'The store that guards against double charges does not answer, or takes no writes.',
  subscriptions_unavailable: 'The store of subscription windows does not answer.',
  facilitator_unavailable: 'The facilitator has not answered anything yet.',
  payments_unreadable: 'The code that reads payments could not be loaded. Restart the process.',
  wrong_network: 'The Algorand node is of another network, so no settlement could be proven.',
  upstream_unavailable: 'A server that this one forwards paid calls to does not take connections.',
} as const

type Reason = keyof typeof REASONS

export function readinessOf({ agent, facilitators, deps }: HealthOptions) {
  const sells = agent.endpoints.some(({ subscription }) => subscription !== undefined)
  const upstreams = new Set(
    agent.endpoints.flatMap(({ upstream = [] }) => [upstream].flat().map(url => new URL(url).origin)),
  )
  const questions: Readonly<Record<Reason, HealthCheck>> = {
    shutting_down: () => !deps.stop.draining(),
    store_unavailable: takesWrites(deps),
    subscriptions_unavailable: () => !sells || deps.subscriptions.get('ready'),
    facilitator_unavailable: async () => {
      const answered = await Promise.all(facilitators.map(facilitator => facilitator.ready()))
      return answered.includes(true)
    },
    payments_unreadable: deps.reader,
    // A node that only does not answer counts as no node: calls continue without it.
    wrong_network: () => deps.chain.status() !== 'wrongNetwork',
    upstream_unavailable: async () => {
      const there = await Promise.all([...upstreams].map(origin => listensAt(origin, CHECK_TIMEOUT_MS)))
      return there.every(isThere => isThere)
    },
  }
  const ask = namedChecks(questions, { ...deps, timeoutMs: CHECK_TIMEOUT_MS })
  return async (): Promise<Condition> => {
    const answers = Object.entries(await ask()) as [Reason, string][]
    const why = answers
      .filter(([, result]) => result !== 'ok')
      .map(([code]) => ({ code, message: REASONS[code] }))
    return why.length === 0 ? { ok: true } : { ok: false, why }
  }
}

/** Strangers may poll `/ready`. Between two writes, the store is only asked whether it answers. */
const WRITE_EVERY_MS = 1_000

/**
 * Takes a payment that nobody has, and gives it back. A Redis that is full, or is a replica, answers whatever changes nothing, and
 * refuses each paid call.
 */
function takesWrites({ store, random, clock }: ChargeDeps): HealthCheck {
  let writtenMs = Number.NEGATIVE_INFINITY
  let isTaken: Promise<boolean>
  const take = async (hold: Hold) =>
    (await store.open({ ...hold, leaseMs: WRITE_EVERY_MS })).verdict === 'opened'
  return async () => {
    const token = random.uuid()
    const hold = { slot: 'ready', token, payment: `ready:${token}` }
    const nowMs = clock.monotonic()
    if (nowMs - writtenMs >= WRITE_EVERY_MS) {
      writtenMs = nowMs
      isTaken = take(hold)
    }
    try {
      return await isTaken
    } finally {
      // Also where it is unknown whether the payment was taken.
      await store.close({ ...hold, how: 'release', retentionMs: 0 })
    }
  }
}

/** Fails if it returns `false`, throws, rejects, or takes too long. */
export type HealthCheck = () => unknown

type NamedChecks = Readonly<Record<string, HealthCheck>>

export type CheckResult = 'ok' | 'failed' | 'timed_out'

interface ChecksOptions {
  readonly timeoutMs: number
  readonly logger: Logger
  readonly clock: Pick<Clock, 'after'>
}

/** Runs all checks at once. The reason for a failure is logged and not sent: it may contain names of hosts and users. */
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

/** Concurrent callers share one running check: many health requests, or a check that hangs, cause one check. */
function oneAtATime(name: string, check: HealthCheck, { timeoutMs, logger, clock }: ChecksOptions) {
  const running = sharedQuestions<CheckResult>()
  const run = async (): Promise<CheckResult> => {
    try {
      return (await check()) === false ? 'failed' : 'ok'
    } catch (err) {
      logger.warn({ err, check: name }, 'a check failed')
      return 'failed'
    }
  }
  return (): Promise<CheckResult> =>
    withTimeout(clock, timeoutMs, running(run)).catch(() => 'timed_out' as const)
}
