/**
 * Loaded into the agent before its own code. Tells `svc dev` which ports are opened, whatever the agent itself prints,
 * and has the agent end when `svc dev` is gone, however that came.
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
// Listening for the end of the channel must not keep the agent from ending.
process.channel?.unref()
