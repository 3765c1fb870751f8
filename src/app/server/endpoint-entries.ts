/** All values about an agent's endpoints that are computed once, at start, and what the seller is warned of about their quotes. */
import { ajvValidator } from '../../adapters/validation/ajv.js'
import { standardCheck } from '../../adapters/validation/standard-check.js'
import type { AgentDef } from '../../domain/agent.js'
import { bazaarOf, listableOf, unlistable } from '../../domain/bazaar-declaration.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { firstName } from '../../domain/endpoint-lifecycle.js'
import { examplesOf } from '../../domain/example-input.js'
import { type Answer, contentOf } from '../../domain/handler.js'
import { declaredIdentifier, PAYMENT_IDENTIFIER } from '../../domain/idempotency-key.js'
import { BASE_UNITS_MAX } from '../../domain/money.js'
import { present } from '../../domain/option-checks.js'
import { methodsOf } from '../../domain/path-pattern.js'
import { periodMs } from '../../domain/period.js'
import { merchantExtension, quotedTags } from '../../domain/quote-fields.js'
import { takesBalance } from '../../domain/window-and-balance-terms.js'
import { PAYMENT_REQUIRED_HEADER } from '../../domain/x402.js'
import { perMinute } from '../../ports/counters.js'
import type { Checked, InputCheck } from '../../ports/input-validator.js'
import type { EndpointEntry, Owner } from '../charge/charge-deps.js'
import { endpointOwner } from '../charge/names-in-stores.js'
import { type Terms, termsOf, UNPAID } from '../charge/payment-challenge.js'
import type { Settings, Warn } from './options/server-settings.js'

/** Makes the entry of each endpoint. */
export function entryMaker(
  { agent, network, basePath, checksAnswers, networkIds, maxTimeoutSeconds, rate, rules, warn }: Settings,
  owner: Owner,
): (def: EndpointDef) => EndpointEntry {
  const { payTo, extra } = agent
  const terms = {
    network,
    payTo,
    extra,
    service: present({ serviceName: agent.serviceName, iconUrl: agent.iconUrl }),
    maxTimeoutSeconds,
    networkIds,
    publicUrl: rules.publicUrl,
    balance: agent.balance,
  }
  const { idempotency } = rules
  const ofAgent = {
    ...merchantExtension(agent.merchant),
    ...(idempotency && { [PAYMENT_IDENTIFIER]: declaredIdentifier(idempotency.required) }),
  }
  const quotedTerms = (def: EndpointDef, tell: Warn) => {
    const extensions = { ...extensionsOf(def, exampleCheck(def), tell), ...ofAgent }
    const quoted = termsOf(def, terms, extensions)
    warnOfSize(def, quoted, basePath, tell)
    return quoted
  }
  warnOfMetadata(agent, warn)
  return def => {
    const soldAs = firstName(def.name, def.formerly)
    const ownName = endpointOwner(owner, soldAs)
    const sold = def.sells ? agent.balance : def.subscription
    const shared = {
      def,
      owner: ownName,
      soldAs,
      check: inputCheck(def),
      examples: () => examplesOf(def.input),
      checkAnswer: checksAnswers ? answerCheck(def, warn) : undefined,
      takesBalance: takesBalance(agent.balance, def),
      periodMs: sold && periodMs(sold.period),
      rate: rateOf(def.rateLimit, rate, owner.agent, ownName),
    }
    const entries = methodsOf(def).map((method, at) => {
      return [
        method,
        { ...shared, terms: quotedTerms({ ...def, method }, at === 0 ? warn : () => {}) },
      ] as const
    })
    return { ...entries[0]![1], byMethod: new Map(entries) }
  }
}

/** The endpoint's own limit, else the server's; `undefined` where there is neither. */
function rateOf(own: EndpointDef['rateLimit'], shared: Settings['rate'], agent: string, endpoint: string) {
  if (own === false) return undefined
  if (own === undefined) return shared && { ...shared, bucket: agent }
  return { terms: perMinute(own.perMinute), per: own.per ?? 'payer', bucket: endpoint }
}

/** The challenge's `extensions`. If no index would accept the whole schema, it is declared in part, and the seller is warned. */
export function extensionsOf(
  def: EndpointDef,
  check: ExampleCheck,
  warn: Warn,
): Record<string, unknown> | undefined {
  if (!def.listed) return undefined
  // Of a query the coerced values, which the schema describes.
  const accepted = [...examplesOf(def.input)]
    .map(check)
    .flatMap(each => ('value' in each ? [each.value] : []))
  const { declared, leftOut } = listableOf(def, accepted, answerExamples(def))
  if (leftOut !== undefined) {
    const why =
      accepted.length === 0
        ? 'no example that satisfies its input could be made up; give the schema `examples`'
        : unlistable(bazaarOf(def, accepted[0]))
    warn(`Endpoint '${def.name}' is declared to the Bazaar without ${leftOut}: ${why}`, {
      endpoint: def.name,
    })
  }
  return { bazaar: declared }
}

function warnOfMetadata({ serviceName, endpoints }: AgentDef, warn: Warn): void {
  const unnamed =
    "Quotes do not name the service: indexes take 1 to 32 printable ASCII characters, which the agent's name is not. Set serviceName"
  if (serviceName === undefined) warn(unnamed)
  for (const { name, tags, listed } of endpoints) {
    const shown = new Set(quotedTags(tags))
    const hidden = tags.filter(tag => !shown.has(tag))
    const message = `Quotes of endpoint '${name}' leave out the tags ${hidden.join(', ')}: indexes take five different ones, each of 1 to 32 printable ASCII characters`
    if (listed && hidden.length > 0) warn(message, { endpoint: name })
  }
}

/** Many proxies read 8 KiB of an answer's headers, and refuse the answer where there are more. */
const QUOTE_BYTES_MAX = 8_192

/** An origin and a sponsor of usual lengths: neither is known at start. No quote of this amount is kept: no price is as high. */
const ORIGIN = 'https://agent.example'
const SUPPORTED = { network: '', feePayer: 'A'.repeat(58) }

function warnOfSize({ name }: EndpointDef, terms: Terms, basePath: string, warn: Warn): void {
  const requirements = terms.requirements(BASE_UNITS_MAX, SUPPORTED)
  const { header } = terms.challenge(ORIGIN + basePath, requirements, UNPAID)
  const bytes = `${PAYMENT_REQUIRED_HEADER}: ${header}\r\n`.length
  if (bytes <= QUOTE_BYTES_MAX) return
  const message = `The quote of endpoint '${name}' is a header of about ${bytes} bytes, and proxies refuse more than ${QUOTE_BYTES_MAX}: shorten the description, the schemas, extra or merchant`
  warn(message, { endpoint: name, bytes })
}

const validator = ajvValidator()

/** `undefined` where every input is accepted. */
function inputCheck({ input, inputSchema, method, allowSlowInput: allowSlow }: EndpointDef) {
  if (inputSchema !== undefined) return standardCheck(inputSchema.schema)
  return input === undefined ? undefined : validator.compile(input, { coerce: method === 'GET', allowSlow })
}

export type ExampleCheck = (example: unknown) => Checked

/**
 * Checks an example at once. A library's schema has published one JSON Schema and checks with another: the example
 * satisfies both, and is shown as it is sent. If the library answers later, the JSON Schema alone decides.
 */
export function exampleCheck(def: EndpointDef): ExampleCheck {
  const { input, inputSchema, method, allowSlowInput: allowSlow } = def
  if (input === undefined) return value => ({ value })
  if (inputSchema === undefined) return validator.compile(input, { coerce: method === 'GET', allowSlow })
  const published = validator.compile(input, { coerce: false, allowSlow: true })
  const own = standardCheck(inputSchema.schema)
  return example => {
    const fits = published(example)
    if ('invalid' in fits) return fits
    const checked = attempted(own, structuredClone(example))
    return checked instanceof Promise || 'value' in checked ? { value: example } : checked
  }
}

function attempted(check: InputCheck, input: unknown): Checked | Promise<Checked> {
  try {
    const checked = check(input)
    if (checked instanceof Promise) checked.catch(() => {})
    return checked
  } catch {
    return { invalid: { field: '', message: 'The schema threw' } }
  }
}

/** The answers that could be made up and that the published schema describes, best first. */
function answerExamples({ output }: EndpointDef): readonly unknown[] {
  if (output === undefined) return []
  const published = validator.compile(output, { coerce: false, allowSlow: true })
  return [...examplesOf(output)].filter(example => 'value' in published(example))
}

/** Warns of an answer that its published schema does not describe. It changes nothing about the answer and the charge. */
function answerCheck(def: EndpointDef, warn: Warn): ((answer: Answer) => void) | undefined {
  const { name, output, outputSchema } = def
  if (output === undefined) return undefined
  const published = validator.compile(output, { coerce: false, allowSlow: true })
  const own = outputSchema && standardCheck(outputSchema.schema)
  const tell = (checked: Checked) => {
    if ('value' in checked) return
    const { field, message } = checked.invalid
    warn(`An answer of endpoint '${name}' does not satisfy its output schema: ${message}`, {
      endpoint: name,
      field,
      schema: output,
    })
  }
  const broke = (err: unknown) =>
    warn(`The output schema of endpoint '${name}' could not check an answer`, { endpoint: name, err })
  return answer => {
    try {
      const content = contentOf(answer)
      if (content.kind !== 'json') return
      const fits = published(content.value)
      const checked = 'invalid' in fits ? fits : (own?.(content.value) ?? fits)
      if (checked instanceof Promise) checked.then(tell).catch(broke)
      else tell(checked)
    } catch (cause) {
      broke(cause)
    }
  }
}
