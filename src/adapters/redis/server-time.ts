/**
 * A lower bound of the server's time. The deadlines of moves are in this time, so that a server that stood still does not
 * carry out a command whose caller was refused long ago.
 */
import { systemClock } from '../../ports/clock.js'
import type { Connection } from './connection.js'

export interface ServerTime {
  /** The server's time now, or a little earlier. Asks the server where it is not known. */
  now(): number | Promise<number>
  /** Asks the server again: its clock was set, or another server has taken its place. */
  forget(): void
}

/** Clocks drift apart by less than 10 ms in this time. */
const KNOWN_FOR_MS = 60_000

export function serverTime(
  connection: Pick<Connection, 'onUp' | 'send'>,
  monotonicMs = systemClock.monotonic,
): ServerTime {
  let aheadMs: number | undefined
  let learntMs = Number.NEGATIVE_INFINITY

  async function learn(): Promise<number> {
    const [seconds, microseconds] = await connection.send(redis => redis.time())
    // Counted from the response: the server's clock has gone on since it wrote the response.
    learntMs = monotonicMs()
    const serverMs = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
    aheadMs = serverMs - learntMs
    return serverMs
  }

  const forget = () => {
    aheadMs = undefined
  }
  // After a reconnection another server, with another clock, may have taken its place.
  connection.onUp(forget)
  return {
    forget,
    now() {
      const nowMs = monotonicMs()
      if (aheadMs === undefined) return learn()
      if (nowMs - learntMs > KNOWN_FOR_MS) {
        learntMs = nowMs
        learn().catch(() => {})
      }
      return nowMs + aheadMs
    },
  }
}
