/** Replies of a seller, as the client has read them. */
import type { HttpReply } from '../../src/app/client/http-reply.js'
import { encodeHeader } from '../../src/domain/x402.js'
import type { SignedPayment } from '../../src/ports/payment-signer.js'

/** Ids of the payment that was sent, and of another one. */
export const OURS = 'O'.repeat(52)
export const OTHERS = 'T'.repeat(52)
export const signed = { txId: OURS, payload: {}, firstValid: 1n, lastValid: 100n } as unknown as SignedPayment

export function reply(status: number, headers: Record<string, string> = {}, body: object = {}): HttpReply {
  return { status, headers: new Headers(headers), bytes: Buffer.from(JSON.stringify(body)), oversized: false }
}
export const failed = (status: number, code: string, txId?: string) =>
  reply(status, {}, { error: { code, txId } })
export const replay = (receipt?: object, said = 'true') =>
  reply(200, {
    'idempotency-replayed': said,
    ...(receipt && { 'PAYMENT-RESPONSE': encodeHeader(receipt) }),
  })

/** The same reply as A2A sends it: the code of JSON-RPC is a number, so our fields stand in `data`. */
export function overA2a<T extends HttpReply | undefined>(said: T): T {
  if (!said) return said
  const { error: data } = JSON.parse(Buffer.from(said.bytes).toString() || '{}')
  const error = data && { code: -32_000, message: 'Refused', data }
  return { ...said, bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error })) }
}
