/**
 * An agent in a process of its own, from the built package, that sends itself a signal at one step of its paid calls, once
 * so many of them are there: it is killed, or suspended. With `agents` there are several in it, on a port and stores of their own
 * each. Speaks JSON lines on stdout.
 */
import { once } from 'node:events'
import { memoryChargeStore } from '../../dist/src/adapters/memory/charge-store.js'
import { memorySubscriptions } from '../../dist/src/adapters/memory/subscriptions.js'
import { defineAgent, defineEndpoint, serve } from '../../dist/src/index.js'
import { systemClock } from '../../dist/src/ports/clock.js'
import { redisStores } from '../../dist/src/redis.js'

const say = message => process.stdout.write(`${JSON.stringify(message)}\n`)
const { payTo, options } = JSON.parse(process.argv[2])
const { halt: first, agents = [options] } = options

let halt
let calls
let letGo
let goneOn

function arm(given) {
  halt = given
  calls = 0
  goneOn = new Promise(resolve => {
    letGo = resolve
  })
}
arm(first)
/** Another step, once the calls before have ended. */
process.on('message', given => {
  arm(given)
  say({ armed: true })
})

/** Calls wait here for each other, and go on where the signal was one to go on after. */
async function at(step) {
  if (step !== halt?.at) return
  if (++calls === (halt.calls ?? 1)) {
    say({ halted: step })
    process.kill(process.pid, halt.signal)
    letGo()
  }
  await goneOn
}

/** The store, with this process halted before or after the move of this name, or while its answer is on its way. */
function haltingAt(move, store) {
  return {
    ...store,
    async [move](...given) {
      await at(`before ${move}`)
      const moving = store[move](...given)
      // The command leaves at the end of this turn. What is set here, when all promises of the turn are done, comes after it.
      if (halt?.at === `during ${move}`) process.nextTick(setImmediate, at, halt.at)
      const answer = await moving
      await at(`after ${move}`)
      return answer
    },
  }
}

/** What a server gives its Algorand node. */
const NODE_TIMEOUT_MS = 2_000

/** A clock of its own, so that an agent shares no memory with the others of the process. The node is well: its limit is out of reach. */
const patientClock = () => ({
  after: (ms, callback) => systemClock.after(ms === NODE_TIMEOUT_MS ? 60_000 : ms, callback),
})

/** @returns the port that it listens on */
async function start({ redisUrl, redis, timeout, handlerMs = 0, halt: _, advanced, ...serveOptions }) {
  const stores =
    redisUrl === undefined
      ? { charges: memoryChargeStore(), subscriptions: memorySubscriptions() }
      : redisStores(redisUrl, { commandTimeoutMs: 20_000, ...redis })
  const charges = ['open', 'record', 'close'].reduce((store, move) => haltingAt(move, store), stores.charges)
  const subscriptions = haltingAt('putIfAbsent', stores.subscriptions)

  async function handler() {
    await at('before handler')
    const answer = { run: process.pid }
    if (handlerMs > 0) await new Promise(resolve => setTimeout(resolve, handlerMs))
    await at('after handler')
    return answer
  }

  const agent = defineAgent({
    balance: { amounts: ['$0.05'], period: '1h' },
    name: 'Halting',
    // As the servers of the tests' own process have it: replicas are of one agent.
    handle: 'test-agent',
    description: 'Stops in the middle of a call.',
    payTo,
    network: 'testnet',
    endpoints: [
      defineEndpoint({ name: 'work', price: '$0.01', timeout, handler }),
      defineEndpoint({ name: 'window', subscription: { price: '$0.01', period: '1h' }, handler }),
      defineEndpoint({
        name: 'counted',
        subscription: { price: '$0.01', period: '1h', calls: 2 },
        timeout: 1_000,
        handler,
      }),
    ],
  })
  const server = serve(agent, {
    port: 0,
    host: '127.0.0.1',
    onReady() {},
    ...serveOptions,
    advanced: { ...advanced, clock: patientClock() },
    stores: { ...stores, charges, subscriptions },
  })
  await once(server, 'listening')
  return server.address().port
}

const [port, ...others] = await Promise.all(agents.map(start))
say({ ready: { port, others } })
