/** A client's process: it says what its calls took, each time it is told to make them. */
import { config } from './child.mjs'

/** @param call makes one paid call, and throws where it was not answered and paid */
export function callsOf(call) {
  process.on('message', async ({ calls, concurrency }) => {
    const cpu = process.cpuUsage()
    const start = performance.now()
    let left = calls
    const worker = async () => {
      while (left-- > 0) await call(config)
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    process.send({ rate: calls / seconds, cpuUs: (user + system) / calls })
  })
  process.once('disconnect', () => process.exit())
  process.send({})
}
