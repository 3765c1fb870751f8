/**
 * A local MCP server whose tools are another agent's endpoints, paid from the user's own wallet. It is for MCP clients that
 * can start a program and cannot pay. The limits are the `SvcClient`'s; no text of the agent can raise them.
 */

import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { FREE_TOOLS, GET_MANIFEST, SEARCH_AGENTS } from '../../adapters/mcp/free-tools.js'
import { RECEIPT_META } from '../../adapters/mcp/outcome-to-tool-result.js'
import { contentResult, errorResult, objectResult } from '../../adapters/mcp/tool-result-content.js'
import type { Toolbox, ToolCall } from '../../adapters/mcp/tool-server.js'
import { toolOf } from '../../adapters/mcp/tools-of-endpoints.js'
import { MCP_PATH } from '../../domain/agent-card.js'
import { canonicalJson } from '../../domain/canonical-json.js'
import { SvcError, shown } from '../../domain/errors.js'
import type { AnswerContent } from '../../domain/handler-answer-content.js'
import { jsonIn } from '../../domain/json-depth.js'
import type { ManifestEndpoint } from '../../domain/manifest.js'
import { parseBaseUnits, usdToBaseUnits } from '../../domain/money.js'
import { isRecord } from '../../domain/x402.js'
import { wakefulClock } from '../../ports/clock.js'
import { type CallOptions, urlOf } from './build-request.js'
import type { SvcClient } from './client.js'
import { owedAnswers } from './owed-answers.js'
import type { CallResult } from './result-types.js'
import { exchangeOver } from './send-request.js'

const TOOL_NAME = /^[A-Za-z0-9_-]{1,128}$/
const FREE_CALL_TIMEOUT_MS = 30_000

/** The program that runs the bridge adds its version, and a listener for breakdowns. */
export type Bridge = Omit<Toolbox, 'version' | 'broke'>

/** @throws SvcError as `client.discover` does. */
export async function bridgeTo(agentUrl: string, client: SvcClient): Promise<Bridge> {
  const base = urlOf(agentUrl)
  const readTools = async (signal?: AbortSignal) =>
    paidTools((await client.discover(base, { signal })).endpoints)
  const paid = new Map((await readTools()).map(made => [made.tool.name, made]))
  // The same array throughout: servers hold it.
  const tools: Tool[] = [...[...paid.values()].map(({ tool }) => tool), ...FREE_TOOLS]
  const listeners: (() => void)[] = []
  const owed = owedAnswers<CallResult>(wakefulClock)
  let offers: readonly Offer[] = []

  /**
   * Updates the price of the tool whose call was refused. All other tools keep the price that the model has seen. The new price is
   * paid once the refused call is repeated. Calls that a model made at the old price may still come after the refusal, and many
   * hosts read a changed list without showing it to the model.
   */
  async function listAnew({ name, args, signal }: ToolCall): Promise<string> {
    const found = (await readTools(signal).catch(() => [])).find(({ tool }) => tool.name === name)
    const { listedPrice } = paid.get(name)!
    if (!found || found.listedPrice === listedPrice) return ''
    const offer = { name, call: canonicalJson([name, args]), listedPrice: found.listedPrice }
    offers = [...offers.slice(1 - OFFERS_MAX), offer]
    paid.set(name, { ...found, listedPrice })
    const at = tools.findIndex(tool => tool.name === name)
    const isListed = tools[at]!.description === found.tool.description
    tools[at] = found.tool
    if (!isListed) for (const listener of listeners) listener()
    return `. The agent now lists it at ${shown(found.endpoint.price)}: the same call, made again, may cost that`
  }

  async function callPaidTool({ name, args, signal }: ToolCall): Promise<CallToolResult> {
    const called = canonicalJson([name, args])
    const offered = offers.findLast(({ call }) => call === called)
    if (offered) {
      paid.set(name, { ...paid.get(name)!, listedPrice: offered.listedPrice })
      offers = offers.filter(offer => offer.name !== name)
    }
    const { endpoint, inputOf, listedPrice: maxPrice } = paid.get(name)!
    const call = (idempotencyKey: string | undefined) => {
      const options = { signal, maxPrice, idempotencyKey, finishPaid: true }
      return callEndpoint(client, base, endpoint, inputOf(args), options)
    }
    return paidResult(await owed(called, signal, call))
  }

  return {
    name: `svc bridge to ${base.host}`,
    instructions: `Tools of the agent at ${base.origin}. Those that cost are paid by this program, within its limits.`,
    tools,
    onToolsChanged: listener => void listeners.push(listener),
    async call(called) {
      try {
        if (called.name === GET_MANIFEST) return objectResult({ ...(await client.discover(base)) })
        if (called.name === SEARCH_AGENTS) return await remoteTool(base, called)
        return await callPaidTool(called)
      } catch (cause) {
        if (!(cause instanceof SvcError)) throw cause
        const listed = isAbove(paid.get(called.name)?.listedPrice, cause) ? await listAnew(called) : ''
        return errorResult(cause.code, cause.message + listed, { detail: cause.detail })
      }
    },
  }
}

/** A call that was refused for its price, and the price at which the agent lists its tool since. */
interface Offer extends Pick<PaidTool, 'listedPrice'> {
  readonly name: string
  readonly call: string
}

const OFFERS_MAX = 32

/** Whether a call was refused because it costs more than its tool says, and not only more than this program may pay. */
function isAbove(listedPrice: string | undefined, { code, detail }: SvcError): boolean {
  if (code !== 'price_above_max' || listedPrice === undefined) return false
  return parseBaseUnits(isRecord(detail) ? detail.amount : undefined)! > usdToBaseUnits(listedPrice)
}

interface PaidTool extends ReturnType<typeof toolOf> {
  readonly endpoint: ManifestEndpoint
  /** What the tool says that each call costs; `undefined` where the price depends on the call, and where it is a text. */
  readonly listedPrice: string | undefined
}

function paidTools(endpoints: readonly ManifestEndpoint[]): PaidTool[] {
  return endpoints
    .map(endpoint => {
      const listedPrice = readablePrice(endpoint)
      const { tool, inputOf } = toolOf(endpoint)
      const description = listedPrice === undefined ? `${tool.description}\n${NO_PROMISE}` : tool.description
      return { endpoint, listedPrice, inputOf, tool: { ...tool, description } }
    })
    .filter(({ tool }) => TOOL_NAME.test(tool.name) && !FREE_TOOLS.some(({ name }) => name === tool.name))
}

const NO_PROMISE = 'Each call may cost a different amount. The limits of this program still apply.'

function readablePrice({ price, pricing }: ManifestEndpoint): string | undefined {
  if (pricing === 'dynamic') return undefined
  try {
    usdToBaseUnits(price)
    return price
  } catch {
    return undefined
  }
}

/**
 * A manifest may name any host. The bridge pays only at the host that it was started for. The path is set and not joined:
 * to a URL parser a path such as `//10.0.0.1/x` is another host.
 */
function targetAt(base: URL, url: string): URL {
  const target = new URL(base.origin)
  target.pathname = urlOf(url).pathname
  if (target.origin === base.origin) return target
  throw new SvcError(`The manifest of ${base.origin} leads to ${target.origin}`, 'invalid_manifest')
}

function callEndpoint(
  client: SvcClient,
  base: URL,
  { url, method }: ManifestEndpoint,
  input: unknown,
  options: CallOptions,
): Promise<CallResult> {
  const target = targetAt(base, url)
  if (method !== 'GET') return client.call(target, input, { ...options, method })
  for (const [name, value] of Object.entries(isRecord(input) ? input : {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      target.searchParams.append(name, typeof each === 'object' ? JSON.stringify(each) : String(each))
    }
  }
  return client.call(target, undefined, { ...options, method })
}

function paidResult({ data, payment, warnings }: CallResult): CallToolResult {
  const receipt = payment && { success: true, transaction: payment.txId, ...payment }
  const meta = { ...(receipt && { [RECEIPT_META]: receipt }), ...(warnings && { 'svc/warnings': warnings }) }
  return { ...contentResult(contentOf(data)), ...(Object.keys(meta).length > 0 && { _meta: meta }) }
}

function contentOf(data: unknown): AnswerContent {
  if (typeof data === 'string') return { kind: 'text', text: data }
  if (!(data instanceof Uint8Array)) return { kind: 'json', value: data, text: JSON.stringify(data) }
  return {
    kind: 'bytes',
    base64: Buffer.from(data).toString('base64'),
    mediaType: 'application/octet-stream',
  }
}

/** Calls a free tool at the agent itself, with a single message. */
async function remoteTool(base: URL, { name, args, signal }: ToolCall): Promise<CallToolResult> {
  const url = new URL(base.origin + base.pathname.replace(/\/+$/, '') + MCP_PATH)
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const request = { url, method: 'POST', headers, body: JSON.stringify(message), signal }
  const sent = await exchangeOver(undefined, wakefulClock)(request, FREE_CALL_TIMEOUT_MS)
  if (sent.kind === 'lost') return errorResult('network_error', `${base.host} did not answer (${sent.cause})`)
  const { status, bytes } = sent.reply
  const answer = messageIn(Buffer.from(bytes).toString('utf8'))
  const result = answer?.result
  if (isRecord(result) && Array.isArray(result.content)) return result as CallToolResult
  return errorResult('call_failed', `${base.host} answered ${status} without a result`, {
    detail: answer?.error,
  })
}

/** The answer is JSON, or the data of the last event of a stream. */
function messageIn(text: string): Record<string, unknown> | undefined {
  const data = text.split('\n').findLast(line => line.startsWith('data:'))
  const message = jsonIn(data?.slice('data:'.length) ?? text)
  return isRecord(message) ? message : undefined
}
