/**
 * What one call asks of Redis, and for which replies its caller waits. Every reply is held back for a while: what was
 * answered before the call was has been waited for, whatever else was sent was not.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@svc/sdk'
import { redisStores } from '@svc/sdk/redis'
import { Redis } from 'ioredis'
import { algodClient } from '../../../dist/src/adapters/algorand/algod-and-indexer.js'
import { paymentHeader, paymentPool, quoteOf } from '../payments.mjs'
import { agentOf, endpoint, SERVED } from './agent.mjs'
import { BALANCE } from './balance.mjs'
import { config } from './child.mjs'

/** Long beside what a call takes without Redis. */
const HELD_MS = 150
const BODY = { text: 'the quick brown fox' }

const SCRIPTS = {
  svcOpen: 'open',
  svcRecord: 'record',
  svcClose: 'close',
  svcRun: 'run',
}

/** In the order in which they were sent. */
let sent = []
/** What is sent in one turn of the event loop is one trip. */
let turn = 0
const onTurn = () => {
  turn++
  setImmediate(onTurn).unref()
}
onTurn()

class Watched extends Redis {
  /** The stores' own connection is made of the client that they are given. */
  duplicate(options) {
    return new Watched({ ...this.options, ...options, lazyConnect: false })
  }

  sendCommand(command, stream) {
    const entry = { name: this.nameOf(command), turn, answered: false }
    // The server's time is asked for once a minute.
    if (entry.name !== 'TIME') sent.push(entry)
    return super.sendCommand(command, stream).finally(async () => {
      await sleep(HELD_MS)
      entry.answered = true
    })
  }

  nameOf({ name, args }) {
    const [sha, , key] = args
    const script = Object.entries(this.scriptsSet).find(([, known]) => known.sha === sha)
    if (script === undefined) return name.toUpperCase()
    // Limits and credit are counted by the same scripts.
    if (script[0].startsWith('svcCount')) return String(key).includes(':limit:') ? 'limit' : 'credit'
    return SCRIPTS[script[0]] ?? script[0]
  }
}

const algod = algodClient({ url: config.facilitatorUrl })
const fails = endpoint('fails', {
  handler() {
    throw new Error('as it must')
  },
})

/** Every kind of call at a server with these options, in an order in which later ones build on earlier ones. */
async function callsAt(prefix, options) {
  const stores = redisStores(new Watched(config.redisUrl, { lazyConnect: true }), { prefix })
  await stores.ping()
  const url = await new Promise(resolve => {
    const onReady = ({ port }) => resolve(`http://127.0.0.1:${port}`)
    serve(agentOf([fails]), { ...SERVED, stores, idempotency: {}, onReady, ...options })
  })
  const found = []
  async function count(name, expects, path, headers = {}, body = BODY) {
    await sleep(2 * HELD_MS)
    sent = []
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (response.status !== expects) throw new Error(`${name}: ${response.status} ${text}`)
    const waited = sent.filter(({ answered }) => answered)
    await sleep(2 * HELD_MS)
    const told = sent.filter(entry => !waited.includes(entry))
    found.push({ name, waited: tripsOf(waited), told: told.map(({ name }) => name) })
    return response
  }
  const payment = async path => {
    const quote = await quoteOf(url, path, path === '/balance' ? { amount: BALANCE } : BODY)
    const [payload] = await paymentPool(quote, algod)(1)
    return { 'PAYMENT-SIGNATURE': paymentHeader(payload, quote) }
  }
  const keyed = async (path, key) => ({
    ...(await payment(path)),
    'Idempotency-Key': `key-of-the-benchmark-of-32-letters-${key}`,
  })

  await count('unpaid call', 402, '/work')
  await count('paid call without a key', 200, '/work', await payment('/work'))
  const work = await keyed('/work', 'work')
  await count('paid call with an `Idempotency-Key`', 200, '/work', work)
  await count('replay', 200, '/work', work)
  await count('paid call with a key, whose handler fails', 500, '/fails', await keyed('/fails', 'fails'))
  const sold = await count('window sold', 200, '/window', await payment('/window'))
  const window = { 'x-svc-subscription': sold.headers.get('x-svc-subscription') }
  await count('call in a window', 200, '/window', window)
  await count('call in a window, with a key', 200, '/window', {
    ...window,
    'Idempotency-Key': 'key-of-the-benchmark-window',
  })
  const counted = await count('counted window sold', 200, '/calls', await payment('/calls'))
  const calls = { 'x-svc-subscription': counted.headers.get('x-svc-subscription') }
  await count('call in a counted window', 200, '/calls', calls)
  await count('call in a counted window, with a key', 200, '/calls', {
    ...calls,
    'Idempotency-Key': 'key-of-the-benchmark-calls',
  })
  const bought = await count('balance sold', 200, '/balance', await payment('/balance'), { amount: BALANCE })
  const balance = { 'x-svc-balance-key': bought.headers.get('x-svc-balance-key') }
  const onBalance = { ...balance, 'Idempotency-Key': 'key-of-the-benchmark-balance' }
  await count('call on a balance', 200, '/work', onBalance)
  await count('call on a balance, at a price of the call', 200, '/priced', onBalance)
  await count('replay of a call on a balance', 200, '/work', onBalance)
  return found
}

function tripsOf(commands) {
  const trips = new Map()
  for (const { name, turn } of commands) trips.set(turn, [...(trips.get(turn) ?? []), name])
  return [...trips.values()].map(names => names.join(' + '))
}

const found = {
  plain: await callsAt('plain:', {}),
  limited: await callsAt('limited:', { rateLimit: { perMinute: 1_000 } }),
}
process.send(found, () => process.exit())
