/**
 * What a program has loaded once it imports the SDK. Modules are counted: they are what a start takes most of its time for, and
 * are the same on every machine. `npm run bench -- --row start` measures the times.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'

const run = promisify(execFile)
const cwd = fileURLToPath(new URL('../..', import.meta.url))

/** Before a program: `loaded` has the files of all modules so far, and `until` waits for one of a package. */
const WATCHING = `
import { once } from 'node:events'
import { Session } from 'node:inspector'
const session = new Session()
session.connect()
const loaded = []
session.on('Debugger.scriptParsed', ({ params: { url } }) => {
  if (url.startsWith('file:')) loaded.push(url)
})
session.post('Debugger.enable')
const until = async name => {
  while (!loaded.some(url => url.includes('/node_modules/' + name + '/'))) await once(session, 'Debugger.scriptParsed')
}
`

/** What a program prints, as JSON. */
async function said(program: string, env: Record<string, string> = {}) {
  const args = ['--input-type=module', '-e', WATCHING + program]
  const { stdout } = await run(process.execPath, args, { cwd, env: { ...process.env, ...env } })
  return JSON.parse(stdout)
}

async function loadedBy(door: string) {
  const urls: string[] = await said(`await import('${door}'); console.log(JSON.stringify(loaded))`)
  const packages = urls.map(url => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1])
  const own = packages.filter(name => name === undefined).length
  console.log(`${door} loads ${urls.length} modules, ${own} of them ours`)
  return { modules: urls.length, own, packages: new Set(packages) }
}

it('a client loads few modules: ours, and four small packages, so neither Koa nor Redis nor MCP', async () => {
  const { modules, packages } = await loadedBy('@svc/sdk/client')
  expect([...packages].filter(Boolean).sort()).toEqual([
    '@scure/base',
    '@scure/bip39',
    'eventsource-parser',
    'lru-cache',
  ])
  // They are 45.
  expect(modules).toBeLessThan(50)
})

it('a server loads what reads payments, and what asks nodes and facilitators, when it needs them', async () => {
  const { modules, own, packages } = await loadedBy('@svc/sdk')
  expect(packages).toContain('koa')
  const late = [
    'algosdk',
    'undici',
    'ioredis',
    '@modelcontextprotocol/server',
    'prom-client',
    '@opentelemetry/api',
    'cockatiel',
  ]
  expect([...packages].filter(name => late.includes(name!))).toEqual([])
  // They are 226, and 60.
  expect(modules).toBeLessThan(232)
  expect(own).toBeLessThan(64)
})

const AGENT = `
import { defineAgent, defineEndpoint, serve } from '@svc/sdk'
const endpoint = defineEndpoint({
  name: 'shout',
  price: '$0.01',
  input: { type: 'object', properties: { text: { type: 'string', pattern: '^h' } }, examples: [{ text: 'hello' }] },
  handler: ({ body }) => ({ shouted: body.text.toUpperCase() }),
})
const agent = defineAgent({
  name: 'Shouter',
  handle: 'shouter',
  description: 'Says it in capitals',
  payTo: process.env.SVC_PAY_TO,
  network: 'testnet',
  endpoints: [endpoint],
})
`

it('a server that nobody pays yet loads what reads payments all the same, so that no payer waits for it', async () => {
  const sandbox = closing(await startSandbox())
  const program = `${AGENT}
    serve(agent, { port: 0, onReady: async () => {
      await until('algosdk')
      console.log(true)
      process.exit()
    } })
  `
  const env = { SVC_SANDBOX: sandbox.url, SVC_PAY_TO: sandbox.seller.address }
  expect(await said(program, env)).toBe(true)
})

it('a program in one file, by esbuild, sells and is paid', async () => {
  const sandbox = closing(await startSandbox())
  const folder = await mkdtemp(join(tmpdir(), 'svc-bundled-'))
  const outfile = join(folder, 'agent.cjs')
  const stdin = { contents: `${AGENT} serve(agent, { port: 0 })`, resolveDir: cwd }
  const { warnings } = await build({ stdin, outfile, bundle: true, platform: 'node', logLevel: 'silent' })
  expect(warnings).toEqual([])
  await writeFile(join(folder, 'package.json'), '{}')
  const child = spawn(process.execPath, [outfile], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: folder,
    env: { ...process.env, SVC_SANDBOX: sandbox.url, SVC_PAY_TO: sandbox.seller.address },
  })
  try {
    const [first] = await once(child.stdout!, 'data')
    const port = /port (\d+)/.exec(String(first))![1]
    const { mnemonic } = sandbox.wallet
    const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl })
    const { data } = await client.call(`http://127.0.0.1:${port}/shout`, { text: 'hello' })
    expect(data).toEqual({ shouted: 'HELLO' })
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(10_000n)
  } finally {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
})
