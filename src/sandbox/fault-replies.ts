/** What the facilitator sends for each transport fault. */
import type { ServerResponse } from 'node:http'
import type { FaultName } from './fault-settings.js'
import { json, type Reply } from './web-server.js'

/** The reply of a transport fault; `undefined` for a fault that changes the content of an answer. */
export function transportFault(behaviour: FaultName): Reply | undefined {
  switch (behaviour) {
    case 'hang':
      return { raw: () => {} }
    case 'reset':
      return { raw: response => response.socket?.resetAndDestroy() }
    case '500':
      return json(500, { error: { code: 'fault', message: 'The sandbox was told to fail' } })
    case 'html':
      return { status: 200, type: 'text/html; charset=utf-8', body: '<!doctype html><title>Welcome</title>' }
    case 'truncated':
      return { raw: truncated }
    case 'huge':
      return { raw: endless }
    case '429':
      return json(429, { error: { code: 'rate_limited', message: 'Slow down' } }, { 'retry-after': '1' })
    case 'redirect':
      return json(307, {}, { location: '/sandbox/elsewhere' })
    default:
      return undefined
  }
}

/** Closes the connection without an answer. */
export const cut: Reply = { raw: response => response.destroy() }

function truncated(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 })
  response.write('{"isValid":true,"success":true,"transaction":"', () => response.destroy())
}

/** Writes as fast as the client reads, until the client closes the connection. */
function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, 0x20)
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"isValid":true,"success":true,"padding":"')
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {
      // Writes until the socket's buffer is full; `drain` calls again.
    }
  }
  response.on('drain', more)
  more()
}
