/** Named questions about the process's own condition, asked together, each within a bound. */
import { SvcError } from '../../domain/errors.js'
import type { Clock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import { withTimeout } from '../../ports/waiting.js'

/** Fails by answering `false`, by throwing, by rejecting, or by taking too long. */
export type HealthCheck = () => unknown

export type NamedChecks = Readonly<Record<string, HealthCheck>>

export type CheckResult = 'ok' | 'failed' | 'timed_out'

export interface ChecksOptions {
  readonly timeoutMs: number
  readonly logger: Logger
  readonly clock: Pick<Clock, 'after'>
}

/** @throws SvcError `invalid_options` for a check that is no function. */
export function checkedHealthChecks(checks: NamedChecks = {}): NamedChecks {
  for (const [name, check] of Object.entries(checks)) {
    if (typeof check === 'function') continue
    throw new SvcError(`The health check '${name}' is not a function`, 'invalid_options')
  }
  return checks
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
