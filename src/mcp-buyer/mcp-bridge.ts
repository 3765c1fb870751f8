/**
 * A local MCP server whose tools are another agent's endpoints, paid from the user's own wallet. It is for MCP clients that
 * can start a program and cannot pay. The limits are the client's; no text of the agent can raise them. What it says of money
 * is what this client signed.
 */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import { FREE_TOOLS, GET_MANIFEST, SEARCH_AGENTS } from '../adapters/mcp/free-tools.js'
import { errorResult, messageOf, objectResult } from '../adapters/mcp/tool-results.js'
import { type Toolbox, type ToolCall, toolServer } from '../adapters/mcp/tool-server.js'
import { toolOf } from '../adapters/mcp/tools-of-endpoints.js'
import { type CallOptions, urlOf } from '../app/client/build-request.js'
import { exchangeOver } from '../app/client/http-reply.js'
import type { PayingClient } from '../app/client/paying-client.js'
import { failedAfter } from '../app/client/receipt-book.js'
import type { ActiveSubscription, CallResult } from '../app/client/result-types.js'
import { MCP_PATH } from '../domain/agent-card.js'
import { SvcError, shown } from '../domain/errors.js'
import { canonicalJson } from '../domain/json.js'
import type { ManifestEndpoint } from '../domain/manifest.js'
import { schemaOfMessage } from '../domain/message-input.js'
import { parseBaseUnits, usdToBaseUnits } from '../domain/money.js'
import { paramsIn, pathWith } from '../domain/path-pattern.js'
import { windowShown } from '../domain/period.js'
import { isRecord, memberAt } from '../domain/x402.js'
import { wakefulClock } from '../ports/clock.js'
import { foreignResult, paidResult, signedOf, txIdsIn } from './bridge-results.js'
import { owedAnswers } from './owed-answers.js'

export { toolServer }

const TOOL_NAME = /^[A-Za-z0-9_-]{1,128}$/
const FREE_CALL_TIMEOUT_MS = 30_000

/** The program that runs the bridge adds its version, and a listener for breakdowns. */
export type Bridge = Omit<Toolbox, 'version' | 'broke'>

/**
 * @param keyFor the key of a window that was bought earlier, by the name of its tool
 * @throws SvcError as `client.discover` does.
 */
export async function bridgeTo(
  agentUrl: string,
  client: PayingClient,
  keyFor: (toolName: string) => string | undefined = () => undefined,
): Promise<Bridge> {
  const base = urlOf(agentUrl)
  const readTools = async (signal?: AbortSignal) => {
    const { endpoints, balance } = await client.discover(base, { signal })
    // A balance is bought by `svc balance`, which keeps its key.
    return paidTools(endpoints.filter(({ name }) => name !== balance?.endpoint))
  }
  const paid = new Map((await readTools()).map(made => [made.tool.name, made]))
  for (const [name, { endpoint }] of paid) {
    const key = windowShown(endpoint) === '' ? undefined : keyFor(name)
    if (key !== undefined) client.useSubscription(targetAt(base, endpoint.url), key)
  }
  // The same array throughout: servers hold it.
  const tools: Tool[] = [...[...paid.values()].map(({ tool }) => tool), ...FREE_TOOLS]
  const listeners: (() => void)[] = []
  const owed = owedAnswers<CallResult>(wakefulClock)
  /** Of calls that were refused for their price: what their tool is listed at since. */
  const offers = new LRUCache<string, string>({ max: CALLS_MAX })
  /** Of calls that were paid for and have no answer yet: the payments. */
  const unanswered = new LRUCache<string, readonly string[]>({ max: CALLS_MAX })

  /** What this call may cost: its tool's price as the model was shown it, or the one that this very call was refused for. */
  function limitOf(toolCall: ToolCall): string | undefined {
    return offers.peek(nameOf(toolCall)) ?? paid.get(toolCall.name)?.listedPrice
  }

  /**
   * Offers the tool's new price, if that is an amount, to the call that was refused, once it is repeated. All other calls keep the
   * limit that the model was shown: they may have been made at the old price, and many hosts read a changed list without showing it.
   */
  async function listAnew(toolCall: ToolCall, limit: string): Promise<string> {
    const { name, signal } = toolCall
    const found = (await readTools(signal).catch(() => [])).find(({ tool }) => tool.name === name)
    if (found?.listedPrice === undefined || found.listedPrice === limit) return ''
    offers.set(nameOf(toolCall), found.listedPrice)
    paid.set(name, { ...found, listedPrice: paid.get(name)!.listedPrice })
    const at = tools.findIndex(tool => tool.name === name)
    const isListed = tools[at]!.description === found.tool.description
    tools[at] = found.tool
    if (!isListed) for (const listener of listeners) listener()
    return `. The agent now lists it at ${shown(found.endpoint.price)}: the same call, made again, may cost that`
  }

  async function callPaidTool(toolCall: ToolCall): Promise<CallToolResult> {
    const { name, args, signal } = toolCall
    const called = nameOf(toolCall)
    const maxPrice = limitOf(toolCall)
    const { endpoint, inputOf } = paid.get(name)!
    const call = (idempotencyKey: string | undefined) => {
      const options = { signal, maxPrice, idempotencyKey, finishPaid: true }
      return callEndpoint(client, base, endpoint, inputOf(args), options)
    }
    const earlier = unanswered.peek(called) ?? []
    try {
      const result = await owed(called, signal, call)
      unanswered.delete(called)
      return paidResult(result, signedOf(client.receipts, [...earlier, ...txIdsIn(result)]))
    } catch (cause) {
      const txIds = [...new Set([...earlier, ...txIdsIn(cause)])]
      if (txIds.length === 0) throw cause
      unanswered.set(called, txIds)
      throw failedAfter(cause, { payments: signedOf(client.receipts, txIds), windows: [] })
    }
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
        const limit = limitOf(called)
        const listed = limit !== undefined && isAbove(limit, cause) ? await listAnew(called, limit) : ''
        return errorResult(cause.code, cause.message + listed, { detail: cause.detail })
      }
    },
  }
}

const CALLS_MAX = 32

/** Equal calls of a model have the same name. */
function nameOf({ name, args }: ToolCall): string {
  return canonicalJson([name, args])
}

/** Whether a call was refused because it costs more than its tool says, and not only more than this program may pay. */
function isAbove(listedPrice: string, { code, detail }: SvcError): boolean {
  if (code !== 'price_above_max') return false
  return parseBaseUnits(memberAt(detail, 'amount'))! > usdToBaseUnits(listedPrice)
}

interface PaidTool extends ReturnType<typeof toolOf> {
  readonly endpoint: ManifestEndpoint
  /** What the tool says that each call costs; `undefined` where the price depends on the call, and where it is a text. */
  readonly listedPrice: string | undefined
}

function paidTools(endpoints: readonly ManifestEndpoint[]): PaidTool[] {
  return endpoints
    .flatMap(endpoint => paidTool(endpoint) ?? [])
    .filter(({ tool }) => TOOL_NAME.test(tool.name) && !FREE_TOOLS.some(({ name }) => name === tool.name))
}

/** `undefined` for an endpoint of which no tool can be made: the others are offered. */
function paidTool(endpoint: ManifestEndpoint): PaidTool | undefined {
  try {
    const listedPrice = readablePrice(endpoint)
    const { path, input } = endpoint
    // A manifest has `{}` where the input may be anything, and so be left out.
    const isAny = JSON.stringify(input) === '{}'
    const message = schemaOfMessage({ ...(path && { path }), ...(!isAny && { input }) })
    const { tool, inputOf } = toolOf({ ...endpoint, input: message })
    const description = listedPrice === undefined ? `${tool.description}\n${NO_PROMISE}` : tool.description
    return { endpoint, listedPrice, inputOf, tool: { ...tool, description } }
  } catch {
    return undefined
  }
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
  client: PayingClient,
  base: URL,
  { url, path = '', method }: ManifestEndpoint,
  message: unknown,
  options: CallOptions,
): Promise<CallResult> {
  const target = targetAt(base, url)
  const { params = {}, input } = paramsIn(path).length > 0 && isRecord(message) ? message : { input: message }
  const filled = isRecord(params) ? pathWith(target.pathname, params) : undefined
  if (filled === undefined) throw new SvcError(`params make no path such as ${path}`, 'invalid_input')
  target.pathname = filled
  if (method !== 'GET') return client.call(target, input, { ...options, method })
  for (const [name, value] of Object.entries(isRecord(input) ? input : {})) {
    for (const each of Array.isArray(value) ? value : [value])
      target.searchParams.append(name, typeof each === 'object' ? JSON.stringify(each) : String(each))
  }
  return client.call(target, undefined, { ...options, method })
}

async function remoteTool(base: URL, { name, args, signal }: ToolCall): Promise<CallToolResult> {
  const url = new URL(base.origin + base.pathname.replace(/\/+$/, '') + MCP_PATH)
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const request = { url, method: 'POST', headers, body: JSON.stringify(message), signal }
  const sent = await exchangeOver(undefined, wakefulClock)(request, FREE_CALL_TIMEOUT_MS)
  if (sent.kind === 'lost') return errorResult('network_error', `${base.host} did not answer (${sent.cause})`)
  const { status, bytes } = sent.reply
  const answer = messageOf(bytes)
  const own = foreignResult(answer.result)
  if (own) return own
  return errorResult('call_failed', `${base.host} answered ${status} without a result`, {
    detail: answer.error,
  })
}

/** The windows that this session bought: a key that was given is the user's secret. */
export function windowsBought(client: Pick<PayingClient, 'activeSubscriptions'>) {
  const given = new Set(client.activeSubscriptions.map(({ key }) => key))
  const bought = new Map<string, ActiveSubscription>()
  return {
    news() {
      const news = client.activeSubscriptions.filter(({ key }) => !given.has(key) && !bought.has(key))
      for (const window of news) bought.set(window.key, window)
      return news
    },
    all: () => [...bought.values()],
  }
}
