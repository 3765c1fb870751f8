/** What every contender's process has in common: it says where it listens, what CPU it has used, and goes with its parent. */
import { createServer } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { taken } from './taken.mjs'

/** The histogram counts its own period as lateness. */
const RESOLUTION_MS = 10

export const config = JSON.parse(process.argv[2] ?? '{}')

/** Network, price and quote are the same for all: only then are their payments the same work. */
export const NETWORK = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
export const PRICE = '$0.01'
export const MAX_TIMEOUT_SECONDS = 300

export const INPUT = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', maxLength: 1000 }, times: { type: 'integer', minimum: 1 } },
}

/** The handler of every contender. */
export const work = ({ text, times = 1 }) => ({ said: text.toUpperCase(), times })

export function listen(listener) {
  return new Promise(resolve => {
    const server = createServer(listener).listen(0, '127.0.0.1', () => resolve(server.address().port))
  })
}

export function ready(port) {
  const used = () => ({ cpu: process.cpuUsage(), taken: taken() })
  process.on('message', what => process.send(what === 'sample' ? sample() : used()))
  process.once('disconnect', () => process.exit())
  process.send({ url: `http://127.0.0.1:${port}` })
}

let late

/** Memory now, and how late the event loop was since the last sample. */
function sample() {
  const { rss, heapUsed } = process.memoryUsage()
  const loopP99Ms = late === undefined ? 0 : Math.max(0, late.percentile(99) / 1e6 - RESOLUTION_MS)
  late ??= monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  late.enable()
  late.reset()
  return { sample: { rss, heapUsed, loopP99Ms } }
}
