/** One call through each of the seller's doors. What comes back is read as if HTTP had said it. */
import { encodeHeader, isRecord } from '../../../src/simulation-parts.js'
import type { Features } from '../pairs.js'
import type { EndpointName, Purchase, Work } from '../world/agents.js'
import type { WireReply, WireRequest } from '../world/wire.js'
import { workRequest } from '../world/world.js'

export interface DoorCall {
  readonly endpoint: EndpointName
  readonly work: Work | Purchase
  /** Base64, as in the header. */
  readonly payment?: string | undefined
  readonly key?: string | undefined
  readonly window?: string | undefined
  /** The key of a balance. */
  readonly balance?: string | undefined
  /** Base units. */
  readonly maxCharge?: string | undefined
  readonly proof?: string | undefined
  readonly address: string
  /** The task that waits for this payment, at the door `task`. */
  readonly task?: string | undefined
}

export function requestAt(door: Features['door'], call: DoorCall): WireRequest {
  const { endpoint, work, payment, key, window, balance, maxCharge, proof, address } = call
  const named = {
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(window !== undefined && { 'x-svc-subscription': window }),
    ...(balance !== undefined && { 'x-svc-balance-key': balance }),
    ...(maxCharge !== undefined && { 'x-svc-max-charge': maxCharge }),
    ...(proof !== undefined && { 'sign-in-with-x': proof }),
  }
  const paid = payment !== undefined && { 'payment-signature': payment }
  const plain = workRequest(endpoint, work, { ...named, ...paid }, address)
  const asks = { endpoint, body: JSON.stringify(work), key, window, balance, maxCharge, header: payment }
  const skill = endpoint.replace('sister/', '')
  switch (door) {
    case 'http':
      return plain
    case 'fetch':
      return { ...plain, isFetched: true }
    case 'message':
      return { ...plain, target: '/a2a', body: rpc('message/send', { message: message(work, skill) }), asks }
    case 'task': {
      const { headers } = workRequest(endpoint, work, named, address)
      const paying = {
        ...message(work, skill),
        taskId: call.task,
        metadata: {
          'x402.payment.status': 'payment-submitted',
          'x402.payment.payload': payment && JSON.parse(Buffer.from(payment, 'base64').toString('utf8')),
        },
      }
      const sent = call.task === undefined ? message(work, skill) : paying
      const body = rpc('message/send', { message: sent })
      return {
        ...plain,
        headers: { ...headers, 'a2a-extensions': A2A_X402_URI },
        target: '/a2a',
        body,
        asks,
        read: ofTask,
      }
    }
    case 'mcp': {
      const meta = {
        ...(payment !== undefined && {
          'x402/payment': JSON.parse(Buffer.from(payment, 'base64').toString('utf8')),
        }),
        ...(key !== undefined && { 'svc/idempotency-key': key }),
        ...(window !== undefined && { 'svc/subscription': window }),
        ...(balance !== undefined && { 'svc/balance': balance }),
        ...(maxCharge !== undefined && { 'svc/max-charge': maxCharge }),
      }
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(proof !== undefined && { 'sign-in-with-x': proof }),
      }
      const body = rpc('tools/call', { name: skill, arguments: work, _meta: meta })
      return { ...plain, headers, target: '/mcp', body, asks, read: ofTool }
    }
  }
}

/** As the extension's specification spells it. */
const A2A_X402_URI = 'https://github.com/google-a2a/a2a-x402/v0.1'

function rpc(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

function message(work: Work | Purchase, skillId: string) {
  return {
    role: 'user',
    kind: 'message',
    messageId: 'm',
    parts: [{ kind: 'data', data: work }],
    metadata: { skillId },
  }
}

/** The id of a task that waits for its payment. */
export function taskIn({ body }: WireReply): string | undefined {
  const { result } = JSON.parse(body) as { result?: { id?: string; kind?: string; task?: { id?: string } } }
  return result?.task?.id ?? (result?.kind === 'task' ? result.id : undefined)
}

/** A task that failed is a refusal, though JSON-RPC answers 200. */
function ofTask(reply: WireReply): WireReply {
  const isFailed = reply.body.includes('"payment-failed"') || reply.body.includes('"payment-required"')
  return isFailed && reply.status === 200 ? { ...reply, status: 402 } : reply
}

function ofTool(reply: WireReply): WireReply {
  const event = reply.body.split('\n').findLast(line => line.startsWith('data:'))
  const { result, error } = JSON.parse(event?.slice('data:'.length) ?? reply.body) as {
    result?: Record<string, unknown>
    error?: unknown
  }
  if (!result)
    return { ...reply, status: reply.status < 400 ? 400 : reply.status, body: JSON.stringify({ error }) }
  const { isError, structuredContent, content, _meta } = result
  const meta = isRecord(_meta) ? _meta : {}
  const sold = meta['svc/subscription'] as { key?: string; expiresAt?: string } | undefined
  const headers = [
    ...(isRecord(meta['x402/payment-response'])
      ? [['payment-response', encodeHeader(meta['x402/payment-response'] as never)] as const]
      : []),
    ...(meta['svc/replayed'] === true ? [['idempotency-replayed', 'true'] as const] : []),
    ...(sold?.key !== undefined
      ? [
          ['x-svc-subscription', sold.key] as const,
          ['x-svc-subscription-expires', sold.expiresAt ?? ''] as const,
        ]
      : []),
    ...balanceHeaders(meta['svc/balance']),
  ]
  const body = isRecord(structuredContent)
    ? JSON.stringify(structuredContent)
    : ((content as { text?: string }[])[0]?.text ?? '')
  if (isError !== true) return { status: 200, headers, body }
  return { status: isRecord(structuredContent) && 'accepts' in structuredContent ? 402 : 409, headers, body }
}

/** What MCP says of a balance, in HTTP's headers. */
function balanceHeaders(told: unknown): (readonly [string, string])[] {
  if (!isRecord(told)) return []
  const { key, expiresAt, charged, left } = told as Record<string, string | undefined>
  return [
    ['x-svc-balance-key', key],
    ['x-svc-balance-expires', expiresAt],
    ['x-svc-charged', charged],
    ['x-svc-balance', left],
  ].flatMap(([name, value]) => (value === undefined ? [] : [[name!, value] as const]))
}
