/** Responses that wait for the socket behind earlier ones of the same connection. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * One listener for each socket: for 200 pipelined requests, one listener each would look like a leak to Node, which
 * warns from eleven.
 */
const waiting = new WeakMap<Socket, Set<ServerResponse>>()

/**
 * Closes a pipelined response with its socket. Node closes only the response that has the socket. A pipelined
 * response whose socket ends before its turn would never close, and its call, its stream and its idempotency key
 * would wait forever. A request that is not pipelined costs one comparison.
 */
export function closeWithSocket(res: ServerResponse): void {
  if (res.socket !== null) return
  const { socket } = res.req
  if (socket.closed) return void res.destroy()
  const responses = waiting.get(socket) ?? watched(socket)
  responses.add(res)
  res.once('close', () => responses.delete(res))
}

function watched(socket: Socket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>()
  waiting.set(socket, responses)
  socket.once('close', () => {
    for (const res of responses) {
      // Node closes the responses that had their turn.
      if (res.socket !== null || res.writableFinished) continue
      res.destroy()
      res.emit('close')
    }
  })
  return responses
}
