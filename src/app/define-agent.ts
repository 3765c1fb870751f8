/** The public functions that define endpoints and agents: the domain's checks, and a compiler for the schemas. */
import { endingInOneLine, sandboxUrl } from '#platform'
import { ajvValidator } from '../adapters/validation/ajv.js'
import { type AgentDef, type AgentOptions, agent, agentOf } from '../domain/agent.js'
import type { BodyType } from '../domain/body-type.js'
import { type EndpointDef, type EndpointOptions, endpoint } from '../domain/endpoint.js'
import type { EndpointSchema, JSONSchema } from '../domain/endpoint-schemas.js'
import { SvcError } from '../domain/errors.js'
import { unnamedNetwork } from '../domain/network.js'
import { SlowSchema } from '../ports/input-validator.js'
import { withUpstream } from './forward-to-upstream.js'

const validator = ajvValidator()

/** Single calls, or windows: never both. */
type Sold =
  | { readonly price: unknown; readonly subscription?: undefined }
  | { readonly price?: undefined; readonly subscription: unknown }
type Work = { readonly handler: unknown } | { readonly upstream: string }

/**
 * Defines one paid route. Everything is checked now, when the module loads, and nothing at the first paid call.
 *
 * @example
 * defineEndpoint({
 *   name: 'shout',
 *   price: '$0.01',
 *   input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
 *   handler: ({ body }) => ({ shouted: body.text.toUpperCase() }),
 * })
 *
 * @throws SvcError `invalid_name`, `invalid_price`, `invalid_timeout`, `invalid_endpoint`
 */
export function defineEndpoint<
  const Input extends EndpointSchema | undefined = undefined,
  Type extends BodyType = 'json',
  const Output extends EndpointSchema | undefined = undefined,
>(options: EndpointOptions<Input, Type, Output> & Sold & Work): EndpointDef {
  return atStart(() => {
    const def = endpoint<Input, Type>(withUpstream(options) as never)
    checkSchemas(def)
    return def
  }, defineEndpoint)
}

/**
 * Defines an agent: the address that is paid, the network, and the endpoints.
 *
 * @example
 * defineAgent({
 *   name: 'Shouter',
 *   handle: 'shouter',
 *   description: 'Writes text in capital letters.',
 *   payTo: 'SELLER_ADDRESS',
 *   endpoints: [defineEndpoint({ name: 'shout', price: '$0.01', handler: () => 'HELLO' })],
 * })
 *
 * @throws SvcError `invalid_agent`, `invalid_handle`, `invalid_address`, `duplicate_endpoint`, and an endpoint's
 * codes
 */
export function defineAgent(options: AgentOptions): AgentDef {
  return atStart(() => {
    const { endpoints, network = unnamedNetwork(sandboxUrl()) } = options
    // A checked endpoint may have been copied with another upstream.
    const forwarding = Array.isArray(endpoints) && { endpoints: endpoints.map(withUpstream) }
    const def = agent({ ...options, network, ...forwarding })
    for (const checked of def.endpoints) checkSchemas(checked)
    return def
  }, defineAgent)
}

/** An agent whose endpoints are defined later, by a gate. */
export function defineGate({
  network = unnamedNetwork(sandboxUrl()),
  ...options
}: Omit<AgentOptions, 'endpoints'>): AgentDef {
  return agentOf({ ...options, network }, [])
}

/** A mistake in a definition or an option: a program that does not catch it ends with one line, without a stack. */
export function atStart<T>(define: () => T, entry: (...given: never) => unknown): T {
  try {
    return define()
  } catch (cause) {
    throw cause instanceof SvcError ? endingInOneLine(cause, entry) : cause
  }
}

function checkSchemas({ name, input, inputSchema, output, allowSlowInput }: EndpointDef): void {
  // A schema library checks inputs itself. Its JSON Schema is only published, so that no input is checked by it.
  const isNeverChecked = inputSchema !== undefined
  if (input !== undefined) checkSchema(name, 'input', input, isNeverChecked || allowSlowInput === true)
  // The seller's own handler makes the outputs, so their check may be slow.
  if (output !== undefined) checkSchema(name, 'output', output, true)
}

function checkSchema(name: string, what: string, schema: JSONSchema, allowSlow: boolean): void {
  try {
    validator.compile(schema, { coerce: false, allowSlow })
  } catch (cause) {
    const message = `Endpoint '${name}': ${wrongWith(what, cause as Error)}`
    throw new SvcError(message, 'invalid_endpoint', undefined, schema)
  }
}

function wrongWith(what: string, cause: Error): string {
  if (!(cause instanceof SlowSchema)) return `${what} is not a JSON Schema (${cause.message})`
  const { keyword, pointer, message } = cause
  return `'${keyword}' at ${what}${pointer} ${message}. allowSlowInput accepts it as it is`
}
