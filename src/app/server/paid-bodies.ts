/** The bound on bodies that are not paid yet: how large it is, and when a body stops counting against it. */
import { BodyBudget } from '../../adapters/http/body-budget.js'
import type { AgentDef } from '../../domain/agent.js'
import type { Handler } from '../../domain/endpoint.js'
import { invalid, positive } from './options.js'

/** A parsed body takes up to 21 times its bytes, measured: this much leaves room for that in 512 MiB. */
const UNPAID_BYTES_DEFAULT = 16_777_216
/** Of the largest body that any endpoint reads. */
const LARGEST_BODIES = 4

/** @throws SvcError `invalid_options` where the largest body would never fit. */
export function unpaidBodies(
  agent: AgentDef,
  bodyBytesMax: number,
  bytesMax: number | undefined,
): BodyBudget {
  const largest = Math.max(bodyBytesMax, ...agent.endpoints.map(({ maxBodyBytes = 0 }) => maxBodyBytes))
  if (bytesMax === undefined) return new BodyBudget(Math.max(UNPAID_BYTES_DEFAULT, LARGEST_BODIES * largest))
  if (positive('maxUnpaidBodyBytes', bytesMax) >= 2 * largest) return new BodyBudget(bytesMax)
  throw invalid(
    `maxUnpaidBodyBytes is at least ${2 * largest}, twice the largest body that is read, not ${bytesMax}`,
  )
}

/** A handler begins only when its call is paid. From then on its body counts no longer. */
export function releasingBodies(agent: AgentDef, bodies: BodyBudget): AgentDef {
  const endpoints = agent.endpoints.map(def => {
    const handler: Handler<never> = context => {
      bodies.paid(context.headers)
      return def.handler(context)
    }
    return { ...def, handler }
  })
  return { ...agent, endpoints }
}
