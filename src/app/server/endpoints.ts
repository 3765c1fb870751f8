/** All values about an agent's endpoints that are computed once, at start. */

import type { BodyBudget } from '../../adapters/http/body-budget.js'
import type { EndpointDef, Handler } from '../../domain/endpoint.js'
import { periodMs } from '../../domain/period.js'
import type { EndpointEntry, Rate } from '../charge/deps.js'
import { termsOf } from '../charge/terms.js'
import { extensionsOf } from './bazaar-extension.js'
import { answerCheck, exampleCheck, inputCheck } from './endpoint-checks.js'
import type { Settings } from './settings.js'

export function endpointEntries(
  { agent, checksAnswers, quoteTimeoutSeconds, rate, warn }: Settings,
  bodies: BodyBudget,
): ReadonlyMap<string, EndpointEntry> {
  // The real limit is the payment's own validity.
  const terms = { network: agent.network, payTo: agent.payTo, maxTimeoutSeconds: quoteTimeoutSeconds }
  const entryOf = (def: EndpointDef): EndpointEntry => ({
    def: releasing(def, bodies),
    terms: termsOf(def, terms, extensionsOf(def, exampleCheck(def), warn)),
    check: inputCheck(def),
    checkAnswer: checksAnswers ? answerCheck(def, warn) : undefined,
    periodMs: def.subscription && periodMs(def.subscription.period),
    rate: rateOf(def, rate),
  })
  return new Map(agent.endpoints.map(def => [def.name, entryOf(def)]))
}

/** A handler begins only after its call is paid. From then on, its body no longer counts. */
function releasing(def: EndpointDef, bodies: BodyBudget): EndpointDef {
  const handler: Handler<never> = context => {
    bodies.paid(context.headers)
    return def.handler(context)
  }
  return { ...def, handler }
}

/** The endpoint's own limit, else the server's; `undefined` where there is neither. */
function rateOf({ name, rateLimit: own }: EndpointDef, rate: Rate | undefined): Rate | undefined {
  if (own === false) return undefined
  return own ? { perMinute: own.perMinute, per: own.per ?? 'payer', bucket: `${name}:` } : rate
}
