/** A request to the host for `fetch`, as a runtime hands it over; its answer is read to the end, or until the caller hangs up. */
import { ConnectionLost } from '../kernel/network.js'
import type { Process } from '../kernel/process.js'
import { FLUSH_MS, type HangUp, type WireReply, type WireRequest } from './wire.js'

export async function fetched(
  process: Process,
  answer: (request: Request) => Promise<Response>,
  { method, target, host, headers, body, address }: WireRequest,
  hangUp: HangUp,
): Promise<WireReply> {
  const caller = new AbortController()
  const gone = new Promise<never>((_, reject) => {
    hangUp.onGone(() =>
      process.deliver(() => {
        caller.abort(new ConnectionLost('ECONNRESET'))
        reject(new ConnectionLost('ECONNRESET'))
      }),
    )
  })
  const request = new Request(`https://${host}${target}`, {
    method,
    headers: { ...headers, 'x-address': address },
    signal: caller.signal,
    ...(body !== undefined && { body }),
  })
  const read = async (): Promise<WireReply> => {
    const response = await answer(request)
    try {
      const text = await response.text()
      // It takes a moment to leave, as on Node.
      await new Promise<void>(resolve => process.clock.after(FLUSH_MS, resolve))
      return { status: response.status, headers: [...response.headers], body: text }
    } catch {
      // A stream that breaks ends its connection.
      throw new ConnectionLost('ECONNRESET')
    }
  }
  return Promise.race([read(), gone])
}
