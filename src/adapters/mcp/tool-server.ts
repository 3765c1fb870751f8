/** An MCP server for a set of tools: over HTTP for one request, over stdio for one connection. */
import {
  type CallToolResult,
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool,
} from '@modelcontextprotocol/server'
import { errorResult } from './tool-results.js'

export interface Toolbox {
  readonly name: string
  readonly version: string
  readonly instructions: string
  /** The same array throughout; read at each use. */
  readonly tools: readonly Tool[]
  /** Absent where no tool ever changes. The listener is called after each change of `tools`. */
  readonly onToolsChanged?: (listener: () => void) => void
  call(call: ToolCall): Promise<CallToolResult>
  broke(cause: unknown): void
}

export interface ToolCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly meta: Readonly<Record<string, unknown>>
  readonly signal: AbortSignal
}

export function toolServer(toolbox: Toolbox): Server {
  const { name, version, instructions, tools, onToolsChanged } = toolbox
  const capabilities = { tools: onToolsChanged ? { listChanged: true } : {} }
  const server = new Server({ name, version }, { capabilities, instructions })
  onToolsChanged?.(() => void server.sendToolListChanged().catch(toolbox.broke))
  server.setRequestHandler('tools/list', () => ({ tools: [...tools] }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    if (!tools.some(tool => tool.name === params.name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool.')
    const call = {
      name: params.name,
      args: params.arguments ?? {},
      meta: mcpReq._meta ?? {},
      signal: mcpReq.signal,
    }
    try {
      return await toolbox.call(call)
    } catch (cause) {
      toolbox.broke(cause)
      return errorResult('internal_error', 'Something broke on our side.')
    }
  })
  return server
}

/** Handles one HTTP request with a server that exists only for it. */
export function answerOneRequest(
  toolbox: Toolbox,
  request: Request,
  message: unknown,
  onRefused: (cause: Error) => void,
): Promise<Response> {
  // No tool ever changes, so clients have nothing to subscribe to. Making a handler takes 3 µs.
  const handler = createMcpHandler(() => toolServer(toolbox), { maxSubscriptions: 0, onerror: onRefused })
  return handler.fetch(request, { parsedBody: message })
}
