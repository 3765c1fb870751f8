/**
 * Undici 6 and 7, which the `fetch` of Node 22 and 24 is made of, throw where nothing can catch it if a connection that is not kept
 * ends or is reset while its reply is paused (nodejs/undici#5360): any server could end a process that reads slowly, or that
 * decompresses what it reads. Two listeners on the connection, before undici's own, prevent it.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'

type Handler = Dispatcher.DispatchHandler
type PausedReply = { resume(): void }

let beingSent: PausedReply | undefined
const received = new WeakMap<Socket, PausedReply>()

/** Say it when undici says that the request starts: it names the connection in the same turn. */
export function beginsToSend(reply: PausedReply): void {
  beingSent = reply
}

subscribe('undici:client:sendHeaders', message => {
  const { socket } = message as { readonly socket: Socket }
  const reply = beingSent
  beingSent = undefined
  if (reply === undefined) return
  const isKnown = received.has(socket)
  received.set(socket, reply)
  if (isKnown) return
  // Nothing more comes: resuming only ends the reply.
  socket.prependListener('end', () => received.get(socket)?.resume())
  // Undici takes a reset, and no other failure, for a possible end of the reply.
  socket.prependListener('error', (cause: { code?: string }) => {
    if (cause.code === 'ECONNRESET') cause.code = 'UND_ERR_SOCKET'
  })
})

/**
 * The same for undici's `fetch`, of its package or of Node.
 *
 * @param own of a request that brings none; by default what the program has set for all requests
 */
export function resumingFetch(send: typeof fetch, own?: Dispatcher): typeof fetch {
  return (input, init) => {
    const { dispatcher: given = own } = { ...init } as { dispatcher?: Dispatcher }
    const over = (version: 1 | 2) =>
      given ?? Reflect.get(globalThis, Symbol.for(`undici.globalDispatcher.${version}`))
    const dispatcher = {
      // Undici 8 has other handlers, a place of its own, and no such fault.
      dispatch: (options: object, handler: Handler) =>
        handler.onHeaders ? over(1).dispatch(options, resumed(handler)) : over(2).dispatch(options, handler),
      // Undici's mocks get the bodies of requests in another form.
      get isMockActive() {
        return over(1).isMockActive
      },
    }
    return send(input, Object.assign({}, init, { dispatcher }))
  }
}

function resumed(handler: Handler): Handler {
  const reply: Handler & PausedReply = Object.assign(Object.create(handler), {
    resume() {},
    onConnect(...given) {
      beginsToSend(reply)
      handler.onConnect?.apply(reply, given)
    },
    onHeaders(...given) {
      reply.resume = given[2]
      return handler.onHeaders!.apply(reply, given)
    },
    // A parser that is resumed at the end of its connection says so with nothing: pausing it again would undo that.
    onData: chunk => chunk.length === 0 || handler.onData!.call(reply, chunk),
  } satisfies Handler & PausedReply)
  return reply
}
