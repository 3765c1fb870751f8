/** Makes a tool for each listed endpoint: its name, its schema in MCP's form, and how its arguments become an input. */
import type { Tool } from '@modelcontextprotocol/server'
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import { type ManifestEndpoint, priceShown } from '../../domain/manifest.js'
import { schemaOfMessage } from '../../domain/message-input.js'
import { windowShown } from '../../domain/period.js'
import { embeddedAt, type Schema } from '../../domain/rewrite-json-schema.js'
import { isRecord } from '../../domain/x402.js'
import { FREE_TOOLS } from './free-tools.js'

export interface EndpointTool {
  readonly tool: Tool
  readonly def: EndpointDef
  inputOf(args: Readonly<Record<string, unknown>>): unknown
}

/** The fields of an endpoint that a tool needs. A manifest has them too. */
export type ToolSource = Pick<EndpointDef, 'input'> &
  Pick<ManifestEndpoint, 'name' | 'description' | 'price' | 'period' | 'calls'>

export function endpointTools(endpoints: readonly EndpointDef[]): ReadonlyMap<string, EndpointTool> {
  return new Map(
    endpoints
      .filter(def => def.listed)
      .map(def => {
        const { name, description } = def
        const made = toolOf({ name, description, input: schemaOfMessage(def), ...priceShown(def) })
        if (!FREE_TOOLS.some(free => free.name === made.tool.name)) return [made.tool.name, { def, ...made }]
        const message = `Endpoint '${name}': its MCP tool would be named '${made.tool.name}', as a free tool is; choose another name`
        throw new SvcError(message, 'invalid_endpoint')
      }),
  )
}

/** A tool's arguments are always an object. An input that is not an object becomes the member `input`. */
export function toolOf({ name, description, input, price, ...window }: ToolSource) {
  const wraps = isRecord(input) ? input.type !== undefined && input.type !== 'object' : input === false
  const cost = `Costs ${price} in USDC${windowShown(window)}, paid with x402.`
  const tool: Tool = {
    name: name.replaceAll('/', '_'),
    description: description ? `${description}\n${cost}` : cost,
    inputSchema: (wraps ? wrapped(input) : argumentsSchema(input)) as Tool['inputSchema'],
    annotations: { openWorldHint: true },
  }
  return { tool, inputOf: (args: Readonly<Record<string, unknown>>) => (wraps ? args.input : args) }
}

/** Clients read `properties` strictly: JSON Schema allows a boolean as a schema, but they need an object. */
function argumentsSchema(input: EndpointDef['input']): Schema {
  const { properties, ...schema } = embeddedAt('#', input)
  if (!isRecord(properties)) return { ...schema, type: 'object' }
  const asObjects = Object.entries(properties).map(([key, value]) => [key, schemaObject(value)])
  return { ...schema, type: 'object', properties: Object.fromEntries(asObjects) }
}

function wrapped(input: EndpointDef['input']): Schema {
  const schema = input === false ? { not: {} } : embeddedAt('#/properties/input', input)
  return { type: 'object', properties: { input: schema }, required: ['input'] }
}

function schemaObject(schema: unknown): unknown {
  if (typeof schema !== 'boolean') return schema
  return schema ? {} : { not: {} }
}
