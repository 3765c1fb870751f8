/** Everything about an agent's endpoints that is worked out once, at start. */
import { ajvValidator } from '../adapters/validation/ajv.js'
import type { AgentDef } from '../domain/agent.js'
import { periodMs } from '../domain/period.js'
import { termsOf } from './charge/terms.js'
import type { Listing } from './charge/world.js'
import type { ServerOptions } from './options.js'

/** What the reference challenge says; a payment's own validity window is what really ends it. */
const MAX_TIMEOUT_SECONDS = 300

export function listingsOf(agent: AgentDef, options: ServerOptions): ReadonlyMap<string, Listing> {
  const validator = ajvValidator()
  const terms = {
    network: agent.network,
    payTo: agent.payTo,
    maxTimeoutSeconds: options.maxTimeoutSeconds ?? MAX_TIMEOUT_SECONDS,
  }
  return new Map(
    agent.endpoints.map(def => [
      def.name,
      {
        def,
        terms: termsOf(def, terms),
        check:
          def.input === undefined
            ? undefined
            : validator.compile(def.input, { coerce: def.method === 'GET' }),
        periodMs: def.subscription && periodMs(def.subscription.period),
      },
    ]),
  )
}
