/** An agent in a process of its own, from the built package: for signals and kills. Speaks JSON lines on stdout. */
import { defineAgent, defineEndpoint, serve } from '../../dist/src/index.js'

const say = message => process.stdout.write(`${JSON.stringify(message)}\n`)
const { payTo, options = {} } = JSON.parse(process.argv[2])

const slow = defineEndpoint({
  name: 'slow',
  price: '$0.01',
  async handler() {
    say({ handling: true })
    await new Promise(resolve => process.once('message', resolve))
    return { done: true }
  },
})

const agent = defineAgent({
  name: 'Child',
  // As the servers of this process have it: replicas are of one agent.
  handle: 'test-agent',
  description: 'An agent of its own.',
  payTo,
  network: 'testnet',
  endpoints: [slow],
})
serve(agent, {
  port: 0,
  host: '127.0.0.1',
  ...options,
  onReady: ready => say({ ready }),
  onShutdown(shutdown) {
    say({ shutdown })
    process.exit(0)
  },
})
