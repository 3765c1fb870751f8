/** The doors for agents, each spoken by hand: one way to ask through any of them, and one way to read what it says. */
import type { PaymentRequired } from '../../src/domain/x402.js'

export interface DoorAsk {
  readonly skill: string
  readonly input: Readonly<Record<string, unknown>>
  /** As `signFor` makes them: the payment header, keys, a proof, and what a proxy says. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Told {
  /** `ok`, `payment_required`, or the code of the error. */
  readonly code: string
  readonly data?: unknown
  readonly receipt?: Fields
  readonly subscriptionKey?: string
  readonly remaining?: number
  /** Of a balance: its key where it was sold, what the call took, and what is left. */
  readonly balance?: { readonly key?: string; readonly charged?: string; readonly left?: string }
  readonly replayed?: boolean
  readonly challenge?: PaymentRequired
  /** The error, as it was told. */
  readonly problem?: Fields
  readonly status: number
  readonly headers: Headers
}

export type TestDoor = (url: string, ask: DoorAsk) => Promise<Told>

type Fields = Readonly<Record<string, unknown>>

/** The fields that tests read from JSON-RPC answers; a missing one is `undefined`, and the test will say so. */
export interface RpcAnswer {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: RpcResult
  readonly error?: { readonly code: number; readonly message: string; readonly data?: ErrorData }
}

export interface ErrorData extends Fields {
  readonly code: string
  readonly requirements: PaymentRequired
}

export interface RpcResult extends Task {
  readonly task?: Task
  readonly kind?: string
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Fields
  readonly tools: readonly {
    readonly name: string
    readonly inputSchema: Fields
    readonly description: string
  }[]
  readonly _meta?: Fields
}

export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly message: { readonly metadata: Fields } }
  readonly artifacts: readonly { readonly name: string; readonly parts: readonly Fields[] }[]
}

export const DOORS = {
  'A2A 0.3': (url, ask) => a2a(url, ask, 'message/send'),
  'A2A 1.0': (url, ask) => a2a(url, ask, 'SendMessage'),
  MCP: mcp,
} as const satisfies Record<string, TestDoor>

/** The same, and the endpoints' own addresses. */
export const EVERY_DOOR: Readonly<Record<string, TestDoor>> = { HTTP: http, ...DOORS }

export function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: text,
    ...(signal && { signal }),
  })
}

/** The one message of an answer, be it JSON or an event. */
export async function messageIn(response: Response): Promise<RpcAnswer> {
  const text = await response.text()
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
}

export function messageOf(skillId: string | undefined, parts: readonly unknown[], proof?: string) {
  const metadata = { skillId, ...(proof !== undefined && { 'x402.sign-in-with-x': proof }) }
  return { message: { kind: 'message', messageId: 'm1', role: 'user', parts, metadata } }
}

export function rpc(method: string, params: unknown, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method, params }
}

async function http(url: string, { skill, input, headers, signal }: DoorAsk): Promise<Told> {
  const response = await post(`${url}/${skill}`, input, headers, signal)
  const text = await response.text()
  const balance = {
    key: response.headers.get('x-svc-balance-key') ?? undefined,
    charged: response.headers.get('x-svc-charged') ?? undefined,
    left: response.headers.get('x-svc-balance') ?? undefined,
  }
  const about = { status: response.status, headers: response.headers, balance }
  const decoded = (name: string) => JSON.parse(Buffer.from(response.headers.get(name)!, 'base64').toString())
  if (response.status === 402)
    return { ...about, code: 'payment_required', challenge: decoded('payment-required') }
  const data = response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text
  if (!response.ok) return { ...about, code: data.error.code, problem: data.error }
  const remaining = response.headers.get('x-svc-subscription-remaining')
  return {
    ...about,
    code: 'ok',
    data,
    ...(response.headers.has('payment-response') && { receipt: decoded('payment-response') }),
    ...windowIn({
      key: response.headers.get('x-svc-subscription') ?? undefined,
      remaining: remaining === null ? undefined : Number(remaining),
    }),
    replayed: response.headers.get('idempotency-replayed') === 'true',
  }
}

async function a2a(
  url: string,
  { skill, input, headers = {}, signal }: DoorAsk,
  method: string,
): Promise<Told> {
  const { [PROOF]: proof, ...rest } = headers
  const part = method === 'SendMessage' ? { data: input } : { kind: 'data', data: input }
  const response = await post(`${url}/a2a`, rpc(method, messageOf(skill, [part], proof)), rest, signal)
  const { result, error } = await messageIn(response)
  const about = { status: response.status, headers: response.headers }
  if (error) {
    const code = error.code === -32010 ? 'payment_required' : error.data!.code
    return {
      ...about,
      code,
      balance: error.data?.['svc.balance'] as Told['balance'],
      challenge: error.data?.requirements,
      problem: { ...error.data, message: error.message },
    }
  }
  const { status, artifacts } = result!.task ?? result!
  const { metadata } = status.message
  return {
    ...about,
    code: 'ok',
    data: artifacts[0]!.parts.find(one => 'data' in one)?.data,
    receipt: (metadata['x402.payment.receipts'] as Fields[] | undefined)?.[0],
    ...windowIn(metadata['svc.subscription']),
    balance: metadata['svc.balance'] as Told['balance'],
    replayed: metadata['svc.replayed'] === true,
  }
}

function windowIn(told: unknown): Pick<Told, 'subscriptionKey' | 'remaining'> {
  const { key, remaining } = (told ?? {}) as { key?: string; remaining?: number }
  return { subscriptionKey: key, remaining }
}

const PROOF = 'sign-in-with-x'
const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']

async function mcp(url: string, { skill, input, headers = {}, signal }: DoorAsk): Promise<Told> {
  const payment = headers['payment-signature']
  const meta = {
    ...(payment !== undefined && { 'x402/payment': JSON.parse(Buffer.from(payment, 'base64').toString()) }),
    ...(headers['idempotency-key'] && { 'svc/idempotency-key': headers['idempotency-key'] }),
    ...(headers['x-svc-subscription'] && { 'svc/subscription': headers['x-svc-subscription'] }),
    ...(headers['x-svc-balance-key'] && { 'svc/balance': headers['x-svc-balance-key'] }),
    ...(headers['x-svc-max-charge'] && { 'svc/max-charge': headers['x-svc-max-charge'] }),
    ...(headers[PROOF] !== undefined && { 'x402/sign-in-with-x': headers[PROOF] }),
  }
  const forwarded = Object.entries(headers).filter(([name]) => FORWARDED.includes(name))
  const params = { name: skill.replaceAll('/', '_'), arguments: input, _meta: meta }
  const response = await post(`${url}/mcp`, rpc('tools/call', params), Object.fromEntries(forwarded), signal)
  const { result, error } = await messageIn(response)
  const { isError, structuredContent, _meta = {} } = result ?? {}
  const balance = _meta['svc/balance'] as Told['balance']
  const about = { status: response.status, headers: response.headers, balance }
  if (error) return { ...about, code: String(error.code) }
  if (isError && structuredContent?.x402Version === 2) {
    return { ...about, code: 'payment_required', challenge: structuredContent as unknown as PaymentRequired }
  }
  if (isError) {
    const problem = structuredContent!.error as ErrorData
    return { ...about, code: problem.code, problem }
  }
  return {
    ...about,
    code: 'ok',
    data: structuredContent,
    receipt: _meta['x402/payment-response'] as Fields | undefined,
    ...windowIn(_meta['svc/subscription']),
    replayed: _meta['svc/replayed'] === true,
  }
}
