/** All values about an agent's endpoints that are computed once, at start. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { declaredIdentifier, PAYMENT_IDENTIFIER } from '../../domain/payment-identifier.js'
import { periodMs } from '../../domain/subscription-period.js'
import type { EndpointEntry, Rate } from '../charge/charge-deps.js'
import { termsOf } from '../charge/payment-challenge.js'
import { extensionsOf } from './bazaar-example.js'
import { answerCheck, exampleCheck, inputCheck } from './endpoint-checks.js'
import type { Settings } from './settings-from-options.js'

export function endpointEntries({
  agent,
  checksAnswers,
  quoteTimeoutSeconds,
  rate,
  rules,
  warn,
}: Settings): ReadonlyMap<string, EndpointEntry> {
  // The real limit is the payment's own validity.
  const terms = { network: agent.network, payTo: agent.payTo, maxTimeoutSeconds: quoteTimeoutSeconds }
  const { idempotency } = rules
  const identifier = idempotency && { [PAYMENT_IDENTIFIER]: declaredIdentifier(idempotency.required) }
  const declaredBy = (def: EndpointDef) => {
    const listing = extensionsOf(def, exampleCheck(def), warn)
    return listing || identifier ? { ...listing, ...identifier } : undefined
  }
  const entryOf = (def: EndpointDef): EndpointEntry => ({
    def,
    terms: termsOf(def, terms, declaredBy(def)),
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
