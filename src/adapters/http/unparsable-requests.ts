/** Answers requests that Node's parser refuses, in the same JSON as every other error. */
import type { Server } from 'node:http'
import { systemClock } from '../../ports/clock.js'
import { errorBody } from './error-to-reply.js'

const REFUSALS: Readonly<Record<string, readonly [line: string, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'The headers are larger than 16 KiB together.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request_timeout', 'The request did not arrive in time.'],
}

/** How long the sender has to read the refusal. */
const LINGER_MS = 1_000

const MALFORMED = ['400 Bad Request', 'bad_request', 'This is not an HTTP request that can be read.'] as const

export function answerUnparsableRequests(server: Server): void {
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || cause.code === 'ECONNRESET') return void socket.destroy()
    // A caller that does not close its own side would keep the connection, and the memory of all that it sent.
    systemClock.after(LINGER_MS, () => socket.destroy())
    const [line, code, message] = REFUSALS[cause.code ?? ''] ?? MALFORMED
    const body = JSON.stringify(errorBody(code, message))
    socket.end(
      `HTTP/1.1 ${line}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
}
