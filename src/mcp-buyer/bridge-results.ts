/** What the bridge hands to its host: answers as they came, and beside them only what this client signed. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { BALANCE_META, contentResult, RECEIPT_META } from '../adapters/mcp/tool-results.js'
import { mediaTypeOf } from '../app/client/http-reply.js'
import { endLines, type PaymentRecord } from '../app/client/receipt-book.js'
import { type CallResult, outcomeOfResult } from '../app/client/result-types.js'
import { toBase64 } from '../domain/bytes.js'
import { SvcError } from '../domain/errors.js'
import type { AnswerContent } from '../domain/handler.js'
import { jsonIn } from '../domain/json.js'
import { isRecord, memberAt } from '../domain/x402.js'

/** `payments`: all that were signed for this call, also those whose answers were lost. */
export function paidResult(result: CallResult, payments: readonly PaymentRecord[]): CallToolResult {
  const { payment, warnings, replayed, charged, left } = result
  const signed = payments.find(({ txId }) => txId === payment?.txId)
  const receipt = signed && { success: true, transaction: signed.txId, ...payment }
  const hasOthers = payments.some(({ txId }) => txId !== signed?.txId)
  const meta = {
    ...(receipt && { [RECEIPT_META]: receipt }),
    ...(charged !== undefined && { [BALANCE_META]: { charged, left } }),
    ...(replayed && !signed && { 'svc/replayed': payment ?? {} }),
    ...(hasOthers && { 'svc/payments': payments }),
    ...(warnings && { 'svc/warnings': warnings }),
  }
  const told = contentResult(contentOf(result))
  const lines = ['This call has sent these payments:', ...endLines({ payments, windows: [] })]
  return {
    ...told,
    ...(hasOthers && { content: [...told.content, { type: 'text', text: lines.join('\n') } as const] }),
    ...(Object.keys(meta).length > 0 && { _meta: meta }),
  }
}

/** The payments of a call, whose ids its results and errors name. Ids that this client did not sign are a seller's claims. */
export function signedOf(receipts: Iterable<PaymentRecord>, txIds: readonly string[]): PaymentRecord[] {
  return [...receipts].filter(({ txId }) => txIds.includes(txId))
}

export function txIdsIn(end: unknown): string[] {
  const named = end instanceof SvcError ? end.detail : end
  if (!isRecord(named)) return []
  const { txId, sentTxId, payment } = named
  return [txId, sentTxId, memberAt(payment, 'txId')].filter((id): id is string => typeof id === 'string')
}

/** JSON keeps its text as it came: parsed and written anew, a number beyond 2^53 is another one. */
function contentOf(result: CallResult): AnswerContent {
  const { data } = result
  const reply = outcomeOfResult(result)?.reply
  if (typeof data === 'string') return { kind: 'text', text: data }
  const type = reply && mediaTypeOf(reply)
  if (data instanceof Uint8Array)
    return { kind: 'bytes', base64: toBase64(data), mediaType: type || 'application/octet-stream' }
  const text = reply && Buffer.from(reply.bytes).toString('utf8')
  const isAsItCame = text !== undefined && jsonIn(text) !== undefined
  return { kind: 'json', value: data, text: isAsItCame ? text : JSON.stringify(data) }
}

/** The agent's result of a free tool, with its content alone: another field could look like a receipt of ours. */
export function foreignResult(result: unknown): CallToolResult | undefined {
  if (!isRecord(result) || !Array.isArray(result.content)) return undefined
  const { structuredContent, isError } = result
  return {
    content: result.content.filter(isRecord).map(({ _meta, ...block }) => block),
    ...(isRecord(structuredContent) && { structuredContent }),
    ...(isError === true && { isError }),
  } as CallToolResult
}
