/** Each door, and each place in what it reads where a stranger may put anything. `@` stands for that. */
import type { StrangersRequest } from './stranger-costs.js'

export interface Place {
  readonly door: string
  readonly place: string
  /** The request with this JSON text in its place. */
  request(json: string): StrangersRequest
}

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

export const FACILITATOR_PLACES = facilitatorPlaces('facilitator')

export const SANDBOX_PLACES: readonly Place[] = [
  ...facilitatorPlaces('sandbox'),
  body('sandbox', '/v2/transactions', 'a submission', '@'),
  body('sandbox', '/v2/transactions/simulate', 'a simulation', '@'),
  body('sandbox', '/v2/transactions/simulate', 'groups', '{"txn-groups":@}'),
  body('sandbox', '/sandbox/fund', 'the body', '@'),
  body('sandbox', '/sandbox/faults', 'the body', '@', {}, 'PUT'),
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
  ]
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
    place: door === 'HTTP' || door === 'MCP' || door === 'A2A' ? place : `${path}: ${place}`,
    request: json => ({ method, path, body: template.replace('@', () => json), ...(headers && { headers }) }),
  }
}
