/** A client of A2A's x402 extension, spoken by hand: each message is the literal JSON-RPC of the facts. */
import { expect } from 'vitest'
import type { PaymentPayload, PaymentRequired } from '../../src/domain/x402.js'
import { post } from './doors.js'
import { type Seller, signQuote } from './seller.js'

export const EXTENSION = 'https://github.com/google-a2a/a2a-x402/v0.1'
export const ACTIVATED = { 'X-A2A-Extensions': EXTENSION }

type Fields = Readonly<Record<string, unknown>>

export interface Told {
  readonly status: number
  readonly headers: Headers
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Fields }
  readonly task?: {
    readonly id: string
    readonly contextId: string
    readonly status: { readonly state: string; readonly message: { readonly metadata: Fields } }
    readonly artifacts?: readonly { readonly parts: readonly Fields[] }[]
  }
  /** The state of the task, or the code of the error. */
  readonly is: unknown
  readonly metadata: Fields
  /** The answer's data. */
  readonly data?: unknown
}

export type Said = (url: string, message: Fields, headers?: Readonly<Record<string, string>>) => Promise<Told>

/** 0.3. */
export const send: Said = async (url, message, headers = ACTIVATED) => {
  const sent = { kind: 'message', messageId: 'm1', role: 'user', ...message }
  const body = { jsonrpc: '2.0', id: 'r1', method: 'message/send', params: { message: sent } }
  return toldIn(await post(`${url}/a2a`, body, headers))
}

async function toldIn(response: Response): Promise<Told> {
  const { result, error } = (await response.json()) as { result?: Told['task']; error?: Told['error'] }
  const { status, headers } = response
  const metadata = result?.status.message.metadata ?? {}
  const data = result?.artifacts?.[0]?.parts.find(part => part.kind === 'data')?.data
  const is = result?.status.state ?? error?.data?.code ?? error?.code
  return { status, headers, metadata, is, ...(result && { task: result, data }), ...(error && { error }) }
}

export const textOf = (text: string) => ({ parts: [{ kind: 'text', text }] })

/** A message that was quoted. */
export async function begin(
  { url }: Pick<Seller, 'url'>,
  message: Fields = textOf('hello'),
): Promise<{ readonly id: string; readonly contextId: string; readonly required: PaymentRequired }> {
  const told = await send(url, message)
  expect(told.is).toBe('input-required')
  const { id, contextId } = told.task!
  return { id, contextId, required: told.metadata['x402.payment.required'] as PaymentRequired }
}

export function paying(taskId: string, payment: PaymentPayload): Fields {
  return {
    taskId,
    parts: [{ kind: 'text', text: 'Here is the payment.' }],
    metadata: { 'x402.payment.status': 'payment-submitted', 'x402.payment.payload': payment },
  }
}

export function rejecting(taskId: string): Fields {
  return { taskId, parts: [], metadata: { 'x402.payment.status': 'payment-rejected' } }
}

/** A task that waits, and a payment for it that was not sent yet. */
export async function begun(seller: Seller, message?: Fields, account?: string) {
  const task = await begin(seller, message)
  const payment = await signQuote(seller, task.required, { account })
  return { ...task, payment, paid: paying(task.id, payment) }
}

export const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
export const lastTxId = ({ sandbox }: Seller) => sandbox.transactions().at(-1)?.txId
