/** Responses that wait for the socket behind earlier ones of the same connection. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** One listener a socket: one for each of 200 pipelined requests would be a leak to Node, which warns of eleven. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>()

/**
 * Node closes the response that has the socket, and only that one. A pipelined response whose socket ends before its turn
 * would never be closed, nor would what waits for it: its call, its stream, its idempotency key. Here it closes with its
 * socket. A request that is not pipelined costs one comparison.
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
      // Those that had their turn are Node's to close.
      if (res.socket !== null || res.writableFinished) continue
      res.destroy()
      res.emit('close')
    }
  })
  return responses
}
