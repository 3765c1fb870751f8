/**
 * An operation in a process that has so many of a thing: what the operation takes of the CPU, and what one of the things took to set up
 * and takes of the memory.
 */
import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createHandler, defineAgent, defineEndpoint } from '@svc/sdk'
import { redisStores } from '@svc/sdk/redis'
import { Redis } from 'ioredis'
import { memoryCounters } from '../../../dist/src/adapters/memory/counters.js'
import { memorySubscriptions } from '../../../dist/src/adapters/memory/subscriptions.js'
import { openJournals } from '../../../dist/src/audit/journal/journal-reader.js'
import { reconcileJournal } from '../../../dist/src/audit/reconciliation/reconciliation-report.js'
import { runOf, txIdOf } from '../journal-lines.mjs'
import { usedUs } from '../redis/server.mjs'
import { config, INPUT, PRICE, work } from './child.mjs'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

const { kind, size, operations = 20_000 } = config
/** Sent to Redis in one write. */
const AT_ONCE = 1_000
const DAY_MS = 86_400_000
const CREDIT = { max: 64, floor: -64, periodMs: DAY_MS, isRenewed: true }

const keys = Array.from({ length: Math.min(size, operations) }, () => randomBytes(32).toString('base64url'))
const others = () => randomBytes(32).toString('base64url')
const keyAt = at => (at < keys.length ? keys[at] : others())
const sold = { endpoint: 'work', expiresAtMs: Date.now() + 30 * DAY_MS }

const kinds = {
  /** Asks an endpoint for its quote, each in its turn. */
  async endpoints() {
    const endpoints = Array.from({ length: size }, (_, at) =>
      defineEndpoint({ name: `work-${at}`, price: PRICE, input: INPUT, handler: ({ body }) => work(body) }),
    )
    const agent = defineAgent({
      name: 'Bench',
      handle: 'bench-agent',
      description: 'Says it in capitals',
      payTo: config.payTo,
      network: 'testnet',
      endpoints,
    })
    const { facilitatorUrl, algodUrl = facilitatorUrl } = config
    const { fetch, close } = createHandler(agent, { facilitatorUrl, algodUrl })
    const ask = async at => {
      const url = `http://agent.example/work-${at % size}`
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(new Request(url, { method: 'POST', headers, body: '{"text":"hello"}' }))
      if (answer.status !== 402) throw new Error(`an unpaid call was answered with ${answer.status}`)
      await answer.arrayBuffer()
    }
    return { ask, close }
  },
  /** Takes a call of one of the windows that are open, and counts it. */
  async windows() {
    const store = memorySubscriptions()
    for (let at = 0; at < size; at++) store.putIfAbsent(keyAt(at), { ...sold, callsLeft: 1_000_000 })
    return { ask: at => takenOf(store, keys[at % keys.length]) }
  },
  /** The same at a Redis. */
  async redisWindows() {
    const { subscriptions, close } = redisStores(config.redisUrl, { prefix: 'growth' })
    for (let at = 0; at < size; at += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, size - at) }, (_, next) => keyAt(at + next))
      await Promise.all(some.map(key => subscriptions.putIfAbsent(key, { ...sold, callsLeft: 1_000_000 })))
    }
    const admin = new Redis(config.redisUrl)
    const ended = async () => {
      admin.disconnect()
      await close()
    }
    return {
      ask: at => takenOf(subscriptions, keys[at % keys.length]),
      close: ended,
      redisUs: () => usedUs(admin),
    }
  },
  /** Takes a run of a payer's credit and gives it back. */
  async payers() {
    const counters = memoryCounters()
    for (let at = 0; at < size; at++) counters.take(keyAt(at), CREDIT)
    const ask = at => {
      const key = keys[at % keys.length]
      if (!counters.take(key, CREDIT).admitted) throw new Error('a payer lost credit')
      counters.giveBack(key, 1, CREDIT)
    }
    return { ask }
  },
}

async function takenOf(store, key) {
  const token = `${Math.random()}`
  const { verdict } = await store.take(key, { endpoint: 'work', token, leaseMs: 60_000 })
  if (verdict !== 'taken') throw new Error(`a call of a window was ${verdict}`)
  await store.use(key, token)
}

const cpuUs = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}
const heldBytes = () => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function grown() {
  const bytesBefore = heldBytes()
  const startedUs = cpuUs()
  const { ask, close, redisUs = () => 0 } = await kinds[kind]()
  const builtUs = cpuUs() - startedUs
  // Each operation once, so that what is compiled or read at the first is not counted; then the ones that are measured.
  for (let at = 0; at < operations; at++) await ask(at)
  const bytes = heldBytes() - bytesBefore
  const before = [cpuUs(), await redisUs()]
  for (let at = 0; at < operations; at++) await ask(at)
  const eachUs = (cpuUs() - before[0]) / operations
  const eachRedisUs = ((await redisUs()) - before[1]) / operations
  await close?.()
  return { eachUs, eachRedisUs, buildUs: builtUs / size, itemBytes: bytes / size }
}

/** `svc audit` without its terminal: the lines from a file, as many transfers from a chain that answers at once. */
async function audited() {
  const { path, ran } = config
  const before = heldBytes()
  let peak = before
  const watching = setInterval(() => {
    const { heapUsed, external } = process.memoryUsage()
    peak = Math.max(peak, heapUsed + external)
  }, 50)
  const start = cpuUs()
  const journals = await openJournals([path])
  const chain = {
    async *to() {
      for (let from = 0; from < size; from += AT_ONCE)
        yield Array.from({ length: Math.min(AT_ONCE, size - from) }, (_, next) => landed(ran, from + next))
    },
    find: async () => undefined,
    close: async () => {},
  }
  const report = await reconcileJournal({ journal: () => journals.pieces(), transfers: () => chain })
  await journals.close()
  const eachUs = (cpuUs() - start) / size
  clearInterval(watching)
  const [first] = report.differences
  if (report.runs !== size || first) throw new Error(`${report.runs} runs of ${size}, ${first?.what}`)
  return { eachUs, itemBytes: (peak - before) / size }
}

function landed(ran, at) {
  const { payer, amount, asset, startedMs, ms } = runOf(ran, at)
  return {
    txId: txIdOf(at),
    payer,
    receiver: config.payTo,
    asset,
    amount: BigInt(amount),
    landedMs: startedMs + ms,
  }
}

process.send(await (kind === 'journals' ? audited() : grown()), () => process.exit())
