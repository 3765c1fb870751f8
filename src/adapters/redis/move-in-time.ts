/** Moves with a deadline, the time when their caller gives up. After it a move does nothing. */
import type { Connection } from './connection.js'
import type { ServerTime } from './server-time.js'

/**
 * Sends a move with its deadline. Its script answers `late` and the server's time where it came to the move after that.
 *
 * @throws Error where Redis came too late to the second attempt as well.
 */
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

/** The server's time, where the move came after its deadline. */
function lateAt(reply: unknown): number | undefined {
  return Array.isArray(reply) && String(reply[0]) === 'late' ? Number(reply[1]) : undefined
}
