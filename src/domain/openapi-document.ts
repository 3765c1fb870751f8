/** The listed endpoints as an OpenAPI 3.1 document, for tools that support HTTP but not x402. */
import type { AgentDef } from './agent.js'
import { MEDIA_TYPE } from './body-type.js'
import type { EndpointDef } from './endpoint.js'
import { priceShown } from './manifest.js'
import { networkFacts } from './network-definition.js'
import {
  ERROR_RESPONSES,
  HEADERS,
  PARAMETERS,
  paidResponse,
  REFUSALS,
  SCHEMAS,
} from './openapi-shared-parts.js'
import { type Method, methodsOf, paramsIn, pathOfEndpoint } from './path-pattern.js'
import { embeddedAt, type Schema } from './rewrite-json-schema.js'
import { takesBalance } from './window-and-balance-terms.js'
import { isRecord, listIn } from './x402.js'

/** The document of an agent whose endpoints are reached under `baseUrl`. Its prices are for readers: a call's own 402 decides. */
export function openapi(agent: AgentDef, baseUrl: string) {
  const listed = agent.endpoints.filter(def => def.listed)
  const tags = new Set(listed.flatMap(def => def.tags))
  const bodies = listed.flatMap(def =>
    BODIES.filter(body => def[body] !== undefined).map(body => [
      bodyName(def, body),
      embeddedAt(bodyPointer(def, body), def[body]),
    ]),
  )
  return {
    openapi: '3.1.0',
    info: { title: agent.name, description: agent.description, version: agent.version },
    servers: [{ url: baseUrl.replace(/\/+$/, '') }],
    tags: [...tags].map(name => ({ name })),
    paths: pathsOf(agent, listed),
    components: {
      schemas: { ...SCHEMAS, ...Object.fromEntries(bodies) },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: ERROR_RESPONSES,
    },
  }
}

/** Endpoints may share a path, with other methods. OpenAPI has no wildcards: one is a parameter that may contain slashes. */
function pathsOf(agent: AgentDef, listed: readonly EndpointDef[]): Record<string, Schema> {
  const paths: Record<string, Schema> = {}
  for (const def of listed) {
    const path = pathOfEndpoint(def).replace(/\/[:*](\w+)/g, '/{$1}')
    const operations = methodsOf(def).map(method => [method.toLowerCase(), operation(agent, def, method)])
    paths[path] = { ...paths[path], ...Object.fromEntries(operations) }
  }
  return paths
}

function operation({ balance, network, payTo }: AgentDef, def: EndpointDef, method: Method): Schema {
  const { description, deprecated, input, name, subscription, tags } = def
  const terms = priceShown(def)
  const { caip2, usdcId } = networkFacts(network)
  return {
    operationId: name.replaceAll('/', '.') + (method === def.method ? '' : `.${method.toLowerCase()}`),
    summary: description === '' ? name : description,
    tags,
    ...(deprecated !== undefined && { deprecated: true }),
    'x-x402': { scheme: 'exact', network: caip2, asset: usdcId, payTo, ...terms },
    parameters: [
      ...paramsIn(pathOfEndpoint(def)).map(param => ({
        name: param,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...(method === 'GET' ? queryParameters(def) : []),
      { $ref: '#/components/parameters/payment' },
      { $ref: '#/components/parameters/idempotencyKey' },
      ...(subscription ? [{ $ref: '#/components/parameters/subscriptionKey' }] : []),
      ...(takesBalance(balance, def)
        ? ['balanceKey', 'maxCharge'].map(name => ({ $ref: `#/components/parameters/${name}` }))
        : []),
    ],
    ...(method !== 'GET' && {
      requestBody: {
        description: 'Without one, and without a payment, the answer is the price.',
        required: input !== undefined || def.bodyType !== undefined,
        content: { [MEDIA_TYPE[def.bodyType ?? 'json']]: { schema: bodySchema(def, 'input') } },
      },
    }),
    responses: { '200': paidResponse(subscription, bodySchema(def, 'output')), ...REFUSALS },
  }
}

function queryParameters(def: EndpointDef): readonly Schema[] {
  const { properties, required } = embeddedAt(bodyPointer(def, 'input'), def.input)
  if (!isRecord(properties)) return []
  const wanted = listIn(required)
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: wanted.includes(name),
    schema,
  }))
}

const BODIES = ['input', 'output'] as const
type Body = (typeof BODIES)[number]

function bodySchema(def: EndpointDef, body: Body): Schema {
  return def[body] === undefined ? {} : { $ref: bodyPointer(def, body) }
}

/** Endpoint names contain no dot, so the names of two bodies, or of a body and this file's own schemas, never collide. */
function bodyName({ name }: EndpointDef, body: Body): string {
  return `${name.replaceAll('/', '.')}.${body}`
}

function bodyPointer(def: EndpointDef, body: Body): string {
  return `#/components/schemas/${bodyName(def, body)}`
}
