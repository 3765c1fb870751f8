/**
 * Loaded into the agent before its own code. Reports to `svc dev` which ports the agent opens, whatever the agent
 * itself prints, and ends the agent when `svc dev` has ended for any reason.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:net'

export interface Announcement {
  readonly svcDevPort: number
}

subscribe('tracing:net.server.listen:asyncEnd', message => {
  const address = (message as { server: Server }).server.address()
  if (address === null || typeof address === 'string') return
  process.send?.({ svcDevPort: address.port } satisfies Announcement)
})

process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
// A listener for the channel's end must not keep the agent running.
process.channel?.unref()
