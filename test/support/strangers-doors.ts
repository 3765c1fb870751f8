/** Each door, and each place in what it reads where a stranger may put anything. `@` stands for that. */
import type { StrangersRequest } from './stranger-costs.js'

export interface Place {
  readonly door: string
  readonly place: string
  /** How many times the bound on the processor's time it may take. @default 1 */
  readonly share?: number
  /** The request with this JSON text in its place. */
  request(json: string): StrangersRequest
}

/**
 * The sandbox reads a simulation's JSON as a node's codec does: numbers exactly, by a parser of algosdk that is written in
 * JavaScript. It listens on this machine alone.
 */
const JSON_OF_NODES = 4

const MODERN = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"'

const mcp = (place: string, template: string, headers?: Readonly<Record<string, string>>) =>
  body('MCP', '/mcp', place, template, headers)
const a2a = (place: string, template: string, headers?: Readonly<Record<string, string>>) =>
  body('A2A', '/a2a', place, template, headers)

const initialize = (fields: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",${fields}}}`
const call = (fields: string, name = '"any"') =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${name},${fields}}}`
const message = (fields: string, method = 'message/send') =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"message":{"role":"user","messageId":"m",${fields}}}}`
const PARTS = '"parts":[{"kind":"data","data":{}}]'

export const AGENT_PLACES: readonly Place[] = [
  body('HTTP', '/any', 'the body', '@'),
  body('HTTP', '/typed', 'the body of a typed endpoint', '{"text":@}'),
  body('HTTP', '/text', 'a body of text', '@'),
  body('HTTP', '/bytes', 'a body of bytes', '@'),
  body('HTTP', '/window', 'the body for a window', '@'),
  mcp('the message', '@'),
  mcp('id', '{"jsonrpc":"2.0","id":@,"method":"tools/list","params":{}}'),
  mcp('jsonrpc', '{"jsonrpc":@,"id":1,"method":"tools/list","params":{}}'),
  mcp('method', '{"jsonrpc":"2.0","id":1,"method":@,"params":{}}'),
  mcp('params', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":@}'),
  mcp('a member beside params', '{"jsonrpc":"2.0","id":1,"method":"tools/list","more":@}'),
  mcp('params of an unknown method', '{"jsonrpc":"2.0","id":1,"method":"none","params":@}'),
  mcp('params of a notification', '{"jsonrpc":"2.0","method":"notifications/initialized","params":@}'),
  mcp('clientInfo', initialize('"capabilities":{},"clientInfo":@')),
  mcp('clientInfo.icons', initialize('"capabilities":{},"clientInfo":{"name":"c","version":"1","icons":@}')),
  mcp('capabilities', initialize('"capabilities":@,"clientInfo":{"name":"c","version":"1"}')),
  mcp(
    'capabilities.experimental',
    initialize('"capabilities":{"experimental":@},"clientInfo":{"name":"c","version":"1"}'),
  ),
  mcp('name', call('"arguments":{}', '@')),
  mcp('arguments', call('"arguments":@')),
  mcp('arguments of a typed tool', call('"arguments":{"text":@}', '"typed"')),
  mcp('arguments of an unknown tool', call('"arguments":@', '"none"')),
  mcp('arguments of search_agents', call('"arguments":{"query":@}', '"search_agents"')),
  mcp('_meta', call('"arguments":{},"_meta":@')),
  mcp('_meta of a list', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":@}}'),
  mcp('the payment', call('"arguments":{},"_meta":{"x402/payment":@}')),
  mcp('inside the payment', call('"arguments":{},"_meta":{"x402/payment":{"x402Version":2,"payload":@}}')),
  mcp('the key of a window', call('"arguments":{},"_meta":{"svc/subscription":@}')),
  mcp(
    '_meta of the newest revision',
    call(`"arguments":{},"_meta":{${MODERN},"io.modelcontextprotocol/clientInfo":@}`),
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'any' },
  ),
  a2a('the message', '@'),
  a2a('id', '{"jsonrpc":"2.0","id":@,"method":"none","params":{}}'),
  a2a('method', '{"jsonrpc":"2.0","id":1,"method":@,"params":{}}'),
  a2a('params', '{"jsonrpc":"2.0","id":1,"method":"message/send","params":@}'),
  a2a('a member beside params', '{"jsonrpc":"2.0","id":1,"method":"message/send","more":@}'),
  a2a('metadata', message(`${PARTS},"metadata":@`)),
  a2a('skillId', message(`${PARTS},"metadata":{"skillId":@}`)),
  a2a('contextId', message(`${PARTS},"contextId":@`)),
  a2a('taskId', message(`${PARTS},"taskId":@`)),
  a2a('parts', message('"parts":@')),
  a2a('a part', message('"parts":[@]')),
  a2a('a text', message('"parts":[{"kind":"text","text":@}]')),
  a2a('data', message('"parts":[{"kind":"data","data":@}]')),
  a2a('data, 1.0', message('"parts":[{"data":@}]', 'SendMessage')),
  a2a(
    'the payment',
    message(
      `${PARTS},"taskId":"t","metadata":{"x402.payment.status":"payment-submitted","x402.payment.payload":@}`,
    ),
  ),
]

const OPERATIONS = ['/health', '/metrics']
const DOCUMENTS = [
  '/',
  '/.well-known/svc.json',
  '/.well-known/x402',
  '/.well-known/x402.json',
  '/.well-known/agent.json',
  '/.well-known/agent-card.json',
  '/openapi.json',
  '/a2a',
  '/none',
  '/ready',
  ...OPERATIONS,
  ...['runs', 'audit', 'audit/events', 'audit/runs.jsonl'].map(page => `/_svc/${page}`),
]

/** What is free: the documents, the page for people, and what operators read. */
export const DOCUMENT_PLACES: readonly Place[] = DOCUMENTS.flatMap(path => [
  query('documents', `${path}?q=@`),
  inHeaders('documents', path),
])

export const FACILITATOR_PLACES: readonly Place[] = [
  ...facilitatorPlaces('facilitator'),
  ...['/supported', '/none', ...OPERATIONS].map(path => inHeaders('facilitator', path)),
]

export const SANDBOX_PLACES: readonly Place[] = [
  ...facilitatorPlaces('sandbox'),
  body('sandbox', '/v2/transactions', 'a submission', '@'),
  { ...body('sandbox', '/v2/transactions/simulate', 'a simulation', '@'), share: JSON_OF_NODES },
  { ...body('sandbox', '/v2/transactions/simulate', 'groups', '{"txn-groups":@}'), share: JSON_OF_NODES },
  body('sandbox', '/sandbox/fund', 'the body', '@'),
  body('sandbox', '/sandbox/faults', 'the body', '@', {}, 'PUT'),
  body('sandbox', '/sandbox/rounds', 'the body', '{"advance":@}'),
  ...[
    '/sandbox/accounts/@',
    '/v2/accounts/@',
    '/v2/accounts/@/transactions',
    '/v2/blocks/@',
    '/v2/status/wait-for-block-after/@',
    '/v2/transactions/pending/@',
    '/v2/transactions?note-prefix=@',
    '/v2/applications/1001/box?name=b64:@',
    '/v2/applications/1001/boxes?prefix=@',
  ].map(path => query('sandbox', path)),
]

const TERMS = '"accepts":[{"scheme":"exact","amount":"1"}]'
const page = (place: string, template: string) => body('Bazaar', '/bazaar', place, template)
const boxes = (place: string, template: string) => body('registry', '/registry', place, template)
/** Of the agent 1. */
const BOX = '"name":"YWdfAAAAAAAAAAE="'

/** Answers of a facilitator and of a node, to what our client asks them. */
export const READER_PLACES: readonly Place[] = [
  page('the answer', '@'),
  page('items', '{"items":@}'),
  page('an item', '{"items":[@]}'),
  page('resource', `{"items":[{"resource":@,${TERMS}}]}`),
  page('accepts', '{"items":[{"resource":"https://a.example","accepts":@}]}'),
  page('terms', '{"items":[{"resource":"https://a.example","accepts":[@]}]}'),
  ...['amount', 'network', 'extra', 'outputSchema'].map(name =>
    page(name, `{"items":[{"resource":"https://a.example","accepts":[{"${name}":@}]}]}`),
  ),
  ...['tags', 'description', 'lastUpdated', 'metadata'].map(name =>
    page(name, `{"items":[{"resource":"https://a.example",${TERMS},"${name}":@}]}`),
  ),
  page('pagination', '{"items":[],"pagination":@}'),
  page('cursor', '{"items":[],"pagination":{"cursor":@}}'),
  boxes('the answer', '@'),
  boxes('boxes', '{"boxes":@}'),
  boxes('a box', '{"boxes":[@]}'),
  boxes('the name of a box', '{"boxes":[{"name":@}]}'),
  boxes('its value', `{"boxes":[{${BOX},"value":@}]}`),
  boxes('beside a long number', '{"boxes":[],"round":12345678901234567890,"more":@}'),
  boxes('the next page', '{"boxes":[],"next-token":@}'),
]

/** Each door by itself, for what is sent by chance. */
export const DOORS: readonly (readonly [
  door: string,
  kind: 'agent' | 'facilitator' | 'sandbox' | 'reader',
])[] = [
  ['HTTP', 'agent'],
  ['MCP', 'agent'],
  ['A2A', 'agent'],
  ['documents', 'agent'],
  ['facilitator', 'facilitator'],
  ['sandbox', 'sandbox'],
  ['Bazaar', 'reader'],
  ['registry', 'reader'],
]

function facilitatorPlaces(door: string): readonly Place[] {
  const settle = (place: string, template: string) => body(door, '/settle', place, template)
  const group = '{"payload":{"paymentGroup":@,"paymentIndex":0}}'
  return [
    body(door, '/verify', 'the body', '@'),
    settle('paymentPayload', '{"paymentPayload":@,"paymentRequirements":{}}'),
    settle('paymentGroup', `{"paymentPayload":${group},"paymentRequirements":{}}`),
    settle('paymentRequirements', '{"paymentPayload":{},"paymentRequirements":@}'),
    settle('network', '{"paymentPayload":{},"paymentRequirements":{"network":@}}'),
    query(door, '/discovery/resources?payTo=@'),
    query(door, '/discovery/resources?limit=@'),
  ]
}

/** Node reads 16 KiB of a head at most. */
const URL_LENGTH_MAX = 8_000
const HEADER_LENGTH_MAX = 1_500
const HEADERS = ['accept', 'authorization', 'cookie', 'if-none-match', 'origin', 'x-forwarded-host']

/** Text that a head can carry. */
const inHead = (text: string, lengthMax: number) =>
  encodeURIComponent(Buffer.from(text.slice(0, lengthMax)).toString()).slice(0, lengthMax)

function query(door: string, path: string): Place {
  return {
    door,
    place: path,
    request: text => ({ method: 'GET', path: path.replace('@', () => inHead(text, URL_LENGTH_MAX)) }),
  }
}

function inHeaders(door: string, path: string): Place {
  return {
    door,
    place: `${path}: headers`,
    request(text) {
      const value = inHead(text, HEADER_LENGTH_MAX)
      return { method: 'GET', path, headers: Object.fromEntries(HEADERS.map(name => [name, value])) }
    },
  }
}

function body(
  door: string,
  path: string,
  place: string,
  template: string,
  headers?: Readonly<Record<string, string>>,
  method = 'POST',
): Place {
  return {
    door,
    place: ['HTTP', 'MCP', 'A2A', 'Bazaar', 'registry'].includes(door) ? place : `${path}: ${place}`,
    request: json => ({ method, path, body: template.replace('@', () => json), ...(headers && { headers }) }),
  }
}
