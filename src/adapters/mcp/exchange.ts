/** One request to an MCP server that exists for it alone. */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { type Toolbox, toolServer } from './server.js'

export function exchange(
  toolbox: Toolbox,
  request: Request,
  message: unknown,
  onRefused: (cause: Error) => void,
): Promise<Response> {
  // Nothing here ever changes, so there is nothing to subscribe to. Making a handler takes 3 µs.
  const handler = createMcpHandler(() => toolServer(toolbox), { maxSubscriptions: 0, onerror: onRefused })
  return handler.fetch(request, { parsedBody: message })
}
