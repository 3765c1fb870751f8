/**
 * A Redis from Docker, by testcontainers. It runs only where Docker answers and no `redis-server` is on PATH. The machines
 * that these tests were written on have no Docker engine: there only the choice of this way is tested.
 *
 * Each container has a loopback interface of its own, so two servers do not find each other at 127.0.0.1. The failover tests
 * need a program.
 */
import type { Launcher } from './redis-launcher.js'

/** Pinned to a whole version, so that a new image does not change a test. */
export const REDIS_IMAGE = 'redis:7.4.2-alpine'

/** What Redis prints when it accepts connections; a Sentinel prints its id instead. */
export const READY = /Ready to accept connections|Sentinel ID is/

/** Whether testcontainers finds a Docker engine. It is loaded only when asked: that takes half a second. */
export async function dockerAnswers(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers')
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

/** Where this process ends without `kill`, the reaper of testcontainers removes the container. */
export const containerLauncher: Launcher = async (port, folder, args) => {
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers')
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`
  const container = await new GenericContainer(REDIS_IMAGE)
    // The port of the host is fixed, because a server that is started again must have the same address.
    .withExposedPorts({ container: port, host: port })
    .withBindMounts([{ source: folder, target: folder, mode: 'rw' }])
    .withUser(user)
    .withCommand(['redis-server', ...args, '--protected-mode', 'no'])
    .withWaitStrategy(Wait.forLogMessage(READY))
    .start()
  return {
    async kill() {
      const { container: containers } = await getContainerRuntimeClient()
      // SIGKILL, as in a crash: `stop` would send SIGTERM, on which Redis writes its files first.
      await containers.getById(container.getId()).kill()
      await container.stop()
    },
  }
}
