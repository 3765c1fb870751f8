/** All values about an agent's endpoints that are computed once, at start. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { periodMs } from '../../domain/subscription-period.js'
import type { EndpointEntry, Rate } from '../charge/charge-deps.js'
import { termsOf } from '../charge/payment-challenge.js'
import { extensionsOf } from './bazaar-example.js'
import { answerCheck, exampleCheck, inputCheck } from './endpoint-checks.js'
import type { Settings } from './settings-from-options.js'

export function endpointEntries({
  agent,
  checksAnswers,
  networkIds,
  quoteTimeoutSeconds,
  rate,
  warn,
}: Settings): ReadonlyMap<string, EndpointEntry> {
  // The real limit is the payment's own validity.
  const { network, payTo } = agent
  const terms = { network, payTo, maxTimeoutSeconds: quoteTimeoutSeconds, networkIds }
  const entryOf = (def: EndpointDef): EndpointEntry => ({
    def,
    terms: termsOf(def, terms, extensionsOf(def, exampleCheck(def), warn)),
    check: inputCheck(def),
    checkAnswer: checksAnswers ? answerCheck(def, warn) : undefined,
    periodMs: def.subscription && periodMs(def.subscription.period),
    rate: rateOf(def, rate),
  })
  return new Map(agent.endpoints.map(def => [def.name, entryOf(def)]))
}

/** The endpoint's own limit, else the server's; `undefined` where there is neither. */
function rateOf({ name, rateLimit: own }: EndpointDef, rate: Rate | undefined): Rate | undefined {
  if (own === false) return undefined
  return own ? { perMinute: own.perMinute, per: own.per ?? 'payer', bucket: `${name}:` } : rate
}
