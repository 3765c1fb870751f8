/** What a stranger asks, in a process of its own, from the built package: an agent, a facilitator or a sandbox. It says what it used. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    JSON.parse(Buffer.concat(chunks).toString('utf8'))
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
  const journalBytes = journal && existsSync(journal) ? statSync(journal).size : 0
  collect()
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {}
  say({ used: { until, journalBytes, from: { cpuMs: cpuMs(), restBytes: process.memoryUsage.rss() } } })
})

void { agent, facilitator, sandbox }[kind]()
