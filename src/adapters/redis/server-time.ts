/** A lower bound. Deadlines are in this time: a server that stood still must not carry out a command that was refused long ago. */
import { systemClock } from '../../ports/clock.js'
import type { Connection } from './connection.js'

export type ServerTime = ReturnType<typeof serverTime>

/** Clocks drift apart by less than 10 ms in this time. */
const KNOWN_FOR_MS = 60_000

export function serverTime(
  connection: Pick<Connection, 'onUp' | 'send'>,
  monotonicMs = systemClock.monotonic,
) {
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
    /** Asks the server again: its clock was set, or another server has taken its place. */
    forget,
    /** The server's time now, or a little earlier. Asks the server where it is not known. */
    now(): number | Promise<number> {
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

/** The script answers `late` and the server's time where it came to the move after its deadline. */
export async function moveInTime(
  { commandTimeoutMs }: Pick<Connection, 'commandTimeoutMs'>,
  time: ServerTime,
  send: (deadlineMs: number) => Promise<unknown>,
): Promise<unknown> {
  const attempt = (nowMs: number) => send(Math.floor(nowMs) + commandTimeoutMs)
  const reply = await attempt(await time.now())
  const serverMs = lateAt(reply)
  if (serverMs === undefined) return reply
  // The move came at once and is late: the server's clock is not the one that was read. A cluster has several clocks.
  time.forget()
  const again = await attempt(serverMs)
  if (lateAt(again) !== undefined) throw new Error('Redis came to this move after its deadline')
  return again
}

function lateAt(reply: unknown): number | undefined {
  return Array.isArray(reply) && String(reply[0]) === 'late' ? Number(reply[1]) : undefined
}
