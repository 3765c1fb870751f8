/**
 * What a stranger asks, in a process of its own, from the built package: an agent, a facilitator, a sandbox, or a reader of what
 * strangers answer. It says what it used.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { algodRegistry, findInBazaar } from '../../dist/src/client.js'
import { createFacilitator, facilitatorApp } from '../../dist/src/facilitator.js'
import { defineAgent, defineEndpoint, serve } from '../../dist/src/index.js'
import { redisStores } from '../../dist/src/redis.js'
import { startSandbox } from '../../dist/src/sandbox.js'

const say = message => process.stdout.write(`${JSON.stringify(message)}\n`)
const { payTo, options } = JSON.parse(process.argv[2])
const { kind, redisUrl, journal, sponsor, algodUrl, ...serveOptions } = options

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

/** What any server spends on these bytes: it receives, joins and parses them, and refuses. */
const bare = createServer(async (request, response) => {
  const bytes = await buffer(request)
  try {
    JSON.parse(bytes.toString('utf8'))
  } catch {}
  response.writeHead(402, { 'content-type': 'application/json' }).end('{}')
})

function agent() {
  const endpoint = (name, more) =>
    defineEndpoint({ name, price: '$0.01', handler: ({ body }) => body ?? {}, ...more })
  const input = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } }
  const made = defineAgent({
    name: 'Strangers',
    handle: 'strangers',
    description: 'An agent that strangers ask.',
    payTo,
    network: 'testnet',
    endpoints: [
      endpoint('any'),
      endpoint('typed', { input }),
      endpoint('find', { method: 'GET' }),
      endpoint('text', { bodyType: 'text' }),
      endpoint('bytes', { bodyType: 'bytes' }),
      endpoint('window', { price: undefined, subscription: { price: '$0.01', period: '1d' } }),
    ],
  })
  const stores = redisStores(redisUrl)
  serve(made, {
    port: 0,
    host: '127.0.0.1',
    algodUrl,
    journal,
    stores,
    audit: { token: 'a-token-of-the-seller' },
    handleSignals: false,
    idempotency: {},
    ...serveOptions,
    onReady: ({ port }) => opened(port),
  })
}

function facilitator() {
  const own = createFacilitator({ network: 'testnet', algodUrl, sponsor, payTo: [payTo] })
  const server = facilitatorApp(own, { perMinute: 1_000_000 }).listen(0, '127.0.0.1', () =>
    opened(server.address().port),
  )
}

async function sandbox() {
  opened(Number(new URL((await startSandbox()).url).port))
}

/** Is sent what a facilitator or a node is to answer, and reads that answer. */
async function reader() {
  let answer
  const stranger = createServer((_, response) => response.end(answer)).listen(0, '127.0.0.1')
  const strangersUrl = () => `http://127.0.0.1:${stranger.address().port}`
  const reads = {
    // What any reader spends: it asks, receives and parses.
    '/parsed/': async () => (await fetch(strangersUrl())).json().catch(() => {}),
    '/bazaar': () => findInBazaar('any', { facilitatorUrl: strangersUrl() }),
    async '/registry'() {
      const registry = algodRegistry({ identityApp: 1, algodUrl: strangersUrl() })
      await registry.list().catch(cause => {
        if (cause.code !== 'node_unavailable') throw cause
      })
      await registry.close()
    },
  }
  const server = createServer(async (request, response) => {
    answer = await buffer(request)
    const status = await Promise.resolve(reads[request.url]?.()).then(
      () => 402,
      () => 500,
    )
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1', () => opened(server.address().port))
}

function opened(port) {
  bare.listen(0, '127.0.0.1', () => {
    say({ ready: { port } })
    say({ bare: { port: bare.address().port } })
  })
}

/** The most memory since the last time, where the system says it for a while and not only for a whole life. */
function peakBytes() {
  const told =
    existsSync('/proc/self/status') && /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))
  return 1_024 * (told ? Number(told[1]) : process.resourceUsage().maxRSS)
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** What was used until now, and what of it is there at the beginning of what comes next. */
process.on('message', () => {
  const until = { cpuMs: cpuMs(), peakBytes: peakBytes() }
  collect()
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {}
  say({ used: { until, from: { cpuMs: cpuMs(), restBytes: process.memoryUsage.rss() } } })
})

void { agent, facilitator, sandbox, reader }[kind]()
