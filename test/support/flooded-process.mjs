/** An agent that is flooded, in a process of its own, from the built package. On a message it says what became of it. */
import { defineAgent, defineEndpoint, serve } from '../../dist/src/index.js'

const say = message => process.stdout.write(`${JSON.stringify(message)}\n`)
const { payTo, options = {} } = JSON.parse(process.argv[2])

const checked = {
  type: 'object',
  properties: { items: { uniqueItems: true }, text: { pattern: '^(a+)+$' } },
}
const agent = defineAgent({
  name: 'Flooded',
  handle: 'flooded',
  description: 'An agent of its own.',
  payTo,
  network: 'testnet',
  endpoints: [
    defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body }),
    defineEndpoint({ name: 'checked', price: '$0.01', input: checked, handler: ({ body }) => body }),
  ],
})

let peakBytes = 0
let busyMs = []
let before = process.cpuUsage()
/** What one turn of the event loop took of the processor: what else runs on this machine does not count. */
setInterval(() => {
  const { user, system } = process.cpuUsage(before)
  before = process.cpuUsage()
  busyMs.push((user + system) / 1_000)
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
}, 5).unref()

serve(agent, {
  port: 0,
  host: '127.0.0.1',
  ...options,
  onReady: ready => say({ ready }),
  onShutdown: () => process.exit(0),
})

/** Since it was asked last. */
process.on('message', () => {
  busyMs.sort((a, b) => a - b)
  const p99 = busyMs[Math.floor(busyMs.length * 0.99)]
  say({ measured: { peakBytes, busyMs: { p99, max: busyMs.at(-1), turns: busyMs.length } } })
  busyMs = []
  peakBytes = process.memoryUsage.rss()
})
