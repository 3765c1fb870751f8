/** All values about an agent's endpoints that are computed once, at start. */
import { ajvValidator } from '../../adapters/validation/ajv.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { periodMs } from '../../domain/subscription-period.js'
import type { EndpointEntry, Rate } from '../charge/charge-deps.js'
import { termsOf } from '../charge/payment-challenge.js'
import { extensionsOf } from './bazaar-example.js'
import type { Settings } from './settings-from-options.js'

export function endpointEntries({
  agent,
  quoteTimeoutSeconds,
  rate,
  warn,
}: Settings): ReadonlyMap<string, EndpointEntry> {
  const validator = ajvValidator()
  // The real limit is the payment's own validity.
  const terms = { network: agent.network, payTo: agent.payTo, maxTimeoutSeconds: quoteTimeoutSeconds }
  const entryOf = (def: EndpointDef): EndpointEntry => {
    const { input, method, allowSlowInput: allowSlow } = def
    const check =
      input === undefined ? undefined : validator.compile(input, { coerce: method === 'GET', allowSlow })
    return {
      def,
      terms: termsOf(def, terms, extensionsOf(def, check, warn)),
      check,
      periodMs: def.subscription && periodMs(def.subscription.period),
      rate: rateOf(def, rate),
    }
  }
  return new Map(agent.endpoints.map(def => [def.name, entryOf(def)]))
}

/** The endpoint's own limit, else the server's; `undefined` where there is neither. */
function rateOf({ name, rateLimit: own }: EndpointDef, rate: Rate | undefined): Rate | undefined {
  if (own === false) return undefined
  return own ? { perMinute: own.perMinute, per: own.per ?? 'payer', bucket: `${name}:` } : rate
}
