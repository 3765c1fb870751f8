/** All values about an agent's endpoints that are computed once, at start. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { merchantExtension } from '../../domain/merchant.js'
import { declaredIdentifier, PAYMENT_IDENTIFIER } from '../../domain/payment-identifier.js'
import { quotedService } from '../../domain/service-metadata.js'
import { periodMs } from '../../domain/subscription-period.js'
import type { EndpointEntry, Rate } from '../charge/charge-deps.js'
import { endpointOwner, type Owner } from '../charge/owners.js'
import { termsOf } from '../charge/payment-challenge.js'
import { extensionsOf } from './bazaar-example.js'
import { answerCheck, exampleCheck, inputCheck } from './endpoint-checks.js'
import { warnOfMetadata, warnOfSize } from './quote-warnings.js'
import type { Settings } from './settings-from-options.js'

export function endpointEntries(
  { agent, network, basePath, checksAnswers, networkIds, maxTimeoutSeconds, rate, rules, warn }: Settings,
  owner: Owner,
): ReadonlyMap<string, EndpointEntry> {
  // The real limit is the payment's own validity.
  const { payTo, extra } = agent
  const terms = {
    network,
    payTo,
    extra,
    service: quotedService(agent),
    maxTimeoutSeconds,
    networkIds,
    publicUrl: rules.publicUrl,
  }
  const { idempotency } = rules
  const ofAgent = {
    ...merchantExtension(agent.merchant),
    ...(idempotency && { [PAYMENT_IDENTIFIER]: declaredIdentifier(idempotency.required) }),
  }
  const quotedTerms = (def: EndpointDef) => {
    const extensions = { ...extensionsOf(def, exampleCheck(def), warn), ...ofAgent }
    const quoted = termsOf(def, terms, extensions)
    warnOfSize(def, quoted, basePath, warn)
    return quoted
  }
  const entryOf = (def: EndpointDef): EndpointEntry => ({
    def,
    owner: endpointOwner(owner, def.name),
    terms: quotedTerms(def),
    check: inputCheck(def),
    checkAnswer: checksAnswers ? answerCheck(def, warn) : undefined,
    periodMs: def.subscription && periodMs(def.subscription.period),
    rate: rateOf(def, rate),
  })
  warnOfMetadata(agent, warn)
  return new Map(agent.endpoints.map(def => [def.name, entryOf(def)]))
}

/** The endpoint's own limit, else the server's; `undefined` where there is neither. */
function rateOf({ name, rateLimit: own }: EndpointDef, rate: Rate | undefined): Rate | undefined {
  if (own === false) return undefined
  return own ? { perMinute: own.perMinute, per: own.per ?? 'payer', bucket: `${name}:` } : rate
}
