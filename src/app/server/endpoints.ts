/** Everything about an agent's endpoints that is worked out once, at start. */
import { ajvValidator } from '../../adapters/validation/ajv.js'
import type { AgentDef } from '../../domain/agent.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { periodMs } from '../../domain/period.js'
import { termsOf } from '../charge/terms.js'
import type { Listing } from '../charge/world.js'
import { extensionsOf, type Warn } from './bazaar-extension.js'
import { positive, type ServerOptions } from './options.js'
import { rateOf } from './rules.js'

/** What the reference challenge says; a payment's own validity window is what really ends it. */
const MAX_TIMEOUT_SECONDS = 300

export function listingsOf(
  agent: AgentDef,
  options: ServerOptions,
  warn: Warn,
): ReadonlyMap<string, Listing> {
  const validator = ajvValidator()
  const terms = {
    network: agent.network,
    payTo: agent.payTo,
    maxTimeoutSeconds: positive('maxTimeoutSeconds', options.maxTimeoutSeconds ?? MAX_TIMEOUT_SECONDS),
  }
  const listingOf = (def: EndpointDef): Listing => {
    const { input, method, allowSlowInput: allowSlow } = def
    const check =
      input === undefined ? undefined : validator.compile(input, { coerce: method === 'GET', allowSlow })
    return {
      def,
      terms: termsOf(def, terms, extensionsOf(def, check, warn)),
      check,
      periodMs: def.subscription && periodMs(def.subscription.period),
      rate: rateOf(def, options),
    }
  }
  return new Map(agent.endpoints.map(def => [def.name, listingOf(def)]))
}
