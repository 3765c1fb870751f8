/** `svc dev` through a pipe: which program it runs, when it runs it anew, how it ends, and that a first call is paid. */
import { rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { freePort } from '../support/redis-server.js'
import { FETCH_TIMEOUT_MS, NODE_20, NODE_24, nodeBinary } from './nodes.js'
import { agentSource, type ProjectFolder, projectFolder, ROOT } from './project-folder.js'
import { type Heard, hear, start, svc } from './run.js'

const PAY_TO = 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM'

interface Ready {
  readonly url: string
  readonly manifest: { readonly payTo: string; readonly network: string }
  readonly call: { readonly url: string; readonly price: string; readonly body: string }
  readonly sandbox: string
  readonly wallet: { readonly address: string; readonly mnemonic: string }
}

let node20: string
let node24: string
beforeAll(async () => {
  node20 = await nodeBinary(NODE_20)
  node24 = await nodeBinary(NODE_24)
}, FETCH_TIMEOUT_MS)

const projects: ProjectFolder[] = []
const running: { kill(): void; ended: Promise<unknown> }[] = []
afterEach(async () => {
  for (const { kill } of running) kill()
  await Promise.all(running.splice(0).map(({ ended }) => ended))
})
afterAll(() => {
  for (const project of projects) project.remove()
})

function project(files: Readonly<Record<string, string>>): ProjectFolder {
  const made = projectFolder(files)
  projects.push(made)
  return made
}

function dev(
  at: ProjectFolder,
  args: readonly string[],
  env: Record<string, string> = {},
  node = process.execPath,
) {
  const child = start(['dev', ...args], { PORT: '0', ...env }, { cwd: at.path, node })
  const heard = hear(child)
  running.push({ kill: () => child.kill('SIGINT'), ended: heard.ended })
  return { child, heard }
}

async function ready(heard: Heard): Promise<Ready> {
  const [line] = await heard.until(/^\{.*\}$/m)
  return JSON.parse(line)
}

async function pay({ call, sandbox, wallet: { mnemonic } }: Ready): Promise<unknown> {
  const caps = { maxPrice: `$${call.price}`, maxPerDay: '$1' } as const
  const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox, ...caps })
  const { data, payment } = await client.call(call.url, JSON.parse(call.body))
  expect(payment?.txId).toMatch(/^[A-Z2-7]{52}$/)
  return data
}

const isServing = (url: string) =>
  fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  )

describe('svc dev --sandbox', () => {
  const nodes: [string, () => string, string, boolean][] = [
    [`JavaScript on Node ${NODE_20}`, () => node20, 'src/index.js', false],
    [`JavaScript on Node ${NODE_24}`, () => node24, 'src/index.mjs', false],
    [`TypeScript on Node ${NODE_24}`, () => node24, 'src/index.ts', true],
  ]
  for (const [name, node, entry, typed] of nodes) {
    it(`${name}: is paid, starts anew on a change, is paid again, and ends`, async () => {
      const at = project({ [entry]: agentSource('one', { typed }) })
      const { child, heard } = dev(at, ['--sandbox', '--json'], {}, node())
      const first = await ready(heard)
      expect(first).toMatchObject({
        manifest: { network: 'testnet' },
        call: { price: '0.01', body: `{"to":"it's me"}` },
      })
      expect(await pay(first)).toEqual({ word: 'one' })

      at.write(entry, agentSource('two', { typed }))
      await heard.until(/sources changed, starting anew/)
      const second = await ready(heard)
      expect(second.wallet).toEqual(first.wallet)
      expect(await pay(second)).toEqual({ word: 'two' })

      child.kill('SIGINT')
      expect(await heard.ended).toBe(0)
      expect(await Promise.all([second.url, second.sandbox].map(isServing))).toEqual([false, false])
      expect(heard.text).not.toMatch(/ExperimentalWarning/)
    })
  }

  it('keeps what was bought over restarts, also where the agent did not start in between', async () => {
    const sells = (word: string) =>
      agentSource(word)
        .replace(
          'payTo, network, endpoints: [say]',
          "payTo, network, endpoints: [say, feed], balance: { amounts: ['$1'], period: '1h' }",
        )
        .replace(
          'const { SVC_PAY_TO',
          "const feed = defineEndpoint({ name: 'feed', subscription: { price: '$0.02', period: '1h', calls: 4 }, handler: () => ({ word }) })\nconst { SVC_PAY_TO",
        )
    // A server of its own, which handles no signal.
    const mounted = sells('one')
      .replace('serve }', 'createHandler }')
      .replace('serve(defineAgent(', 'createServer(createHandler(defineAgent(')
      .replace('onReady: () => {},\n})', '}).node).listen(process.env.PORT)')
    const at = project({ 'agent.mjs': `import { createServer } from 'node:http'${mounted}` })
    const { heard } = dev(at, ['--sandbox', '--json'], { PORT: String(await freePort()) })
    const { url, sandbox, wallet } = await ready(heard)
    const { mnemonic } = wallet
    const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox, maxPerDay: '$5' })
    const call = (path: string, more = {}) => client.call(`${url}/${path}`, {}, more)
    await client.subscribe(`${url}/feed`, {})
    await client.topUp(url, '$1')
    expect([await call('say', { idempotencyKey: 'mine' }), await call('feed')]).toMatchObject([
      { data: { word: 'one' }, left: '990000' },
      { data: { word: 'one' } },
    ])

    at.write('agent.mjs', "throw new Error('not now')")
    await heard.until(/agent\.mjs ended with code 1; waiting for a change/)
    at.write('agent.mjs', sells('two'))
    await ready(heard)
    const spentUsd = client.spentToday
    expect([
      await call('say', { idempotencyKey: 'mine' }),
      await call('say'),
      await call('feed'),
    ]).toMatchObject([
      { data: { word: 'one' } },
      { data: { word: 'two' }, left: '980000' },
      { data: { word: 'two' } },
    ])
    expect(client.activeSubscriptions).toMatchObject([{ remaining: 1 }])
    expect(client.spentToday).toBe(spentUsd)
  })

  it('pays an address of one’s own, and gives the agent no wallet of the developer’s, nor shows one', async () => {
    const secrets = ['SVC_MNEMONIC', 'SVC_SPONSOR_MNEMONIC', 'SVC_SUBSCRIPTION_KEY']
    const found = `console.error('secrets: ' + ${JSON.stringify(secrets)}.filter(name => process.env[name]).join() + '.')`
    const at = project({ 'agent.mjs': `${agentSource('mine')}\n${found}` })
    const secret = 'abandon zoo'.repeat(12)
    const payTo = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
    const env = { SVC_PAY_TO: payTo, ...Object.fromEntries(secrets.map(name => [name, secret])) }
    const { heard } = dev(at, ['--sandbox', '--json'], env)
    const offer = await ready(heard)
    expect(offer.manifest.payTo).toBe(payTo)
    expect(await pay(offer)).toEqual({ word: 'mine' })
    expect(heard.text).toMatch(/^secrets: \.$/m)
    expect(heard.text).not.toContain(secret)
  })

  it('tells of a failure once, with the developer’s own frames, and counts its repetitions', async () => {
    const source = agentSource('mine').replace(
      'handler: () => ({ word }),',
      "handler: ({ body }) => { if (body.to !== 'fine') throw new Error(body.to); return { word } },",
    )
    const at = project({ 'agent.mjs': source })
    const { heard } = dev(at, ['--sandbox', '--json'])
    const { sandbox, wallet, call } = await ready(heard)
    const env = { SVC_SANDBOX: sandbox, SVC_MNEMONIC: wallet.mnemonic }
    const fail = (how: string) =>
      svc(['call', call.url, '--body', JSON.stringify({ to: how }), '--max-price', '1'], env)
    expect((await fail('as planned')).code).toBe(4)
    const [stack] = await heard.until(/the handler of say failed:\n( {2}.*\n)+/)
    const frames = stack.split('\n').filter(line => /^ +at /.test(line))
    expect(frames.length).toBeGreaterThan(0)
    for (const frame of frames) expect(frame).toContain('agent.mjs')
    await heard.until(/the handler of say failed again in the same way, 3 times now\n/)
    expect(heard.text.match(/Error: as planned/g)).toHaveLength(1)
    await fail('otherwise')
    await heard.until(/the handler of say failed:\n {2}Error: otherwise/)
    await heard.until(/, 3 times now\n/)
  })

  it('tells of each call in a line, and of a handler’s error with its stack, but not of its own questions', async () => {
    const failing = agentSource('mine')
      .replace(
        'handler: () => ({ word }),',
        `handler: ({ body, log }) => {
        if (body.to !== 'fail') return { word }
        log('seen', { city: 'Oslo' })
        log.private('hidden', { token: 'k-1' })
        throw new Error('as planned')
      },`,
      )
      .replace("name: 'say',", "name: 'say', path: '/speak',")
    const at = project({ 'agent.mjs': failing })
    const { heard } = dev(at, ['--sandbox', '--json'])
    const offer = await ready(heard)
    expect(heard.text).not.toMatch(/^POST /m)
    await pay(offer)
    const [quoted] = await heard.until(/^POST \/speak .*$/m)
    const [charged] = await heard.until(/^POST \/speak 200.*$/m)
    expect([quoted, charged.replace(/\d+ ms/, 'x ms')]).toEqual([
      expect.stringMatching(/^POST \/speak 402 payment_required, not charged, \d+ ms$/),
      'POST /speak 200, charged $0.01, x ms',
    ])
    const { sandbox, wallet, call } = offer
    const env = { SVC_SANDBOX: sandbox, SVC_MNEMONIC: wallet.mnemonic }
    const failed = await svc(['call', call.url, '--body', '{"to":"fail"}', '--max-price', '1', '--json'], env)
    expect(failed.code).toBe(4)
    // What a handler logs is printed here, also what is private, which no caller reads.
    await heard.until(/^say: seen \{"city":"Oslo"\}\nsay: hidden \{"token":"\[masked: [^"]+"\}$/m)
    expect(failed.stdout + failed.stderr).not.toMatch(/hidden|k-1/)
    const [stack] = await heard.until(/the handler of say failed:\n( {2}.*\n)+/)
    expect(stack).toMatch(/Error: as planned\n +at .*agent\.mjs:\d+/)
    expect(stack).not.toContain('deliver.js')
    await heard.until(/^POST \/speak 500 handler_error, not charged, \d+ ms$/m)
    expect(heard.text).not.toContain('k-1')
  })

  it('finds an agent that an app mounts under a prefix, and the call that it prints is paid', async () => {
    const mounted = agentSource('hello')
      .replace('serve }', 'createHandler }')
      .replace('serve(defineAgent(', 'const { node } = createHandler(defineAgent(')
      .replace('onReady: () => {},', '')
    const app = `
import express from '${ROOT}/node_modules/express/index.js'
${mounted}
express().get('/health', (_, res) => res.send('the app’s')).use('/paid', node).listen(process.env.PORT)`
    const { heard } = dev(project({ 'index.js': app }), ['--sandbox', '--json'])
    const offer = await ready(heard)
    expect(offer.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/paid$/)
    expect(offer.call.url).toBe(`${offer.url}/say`)
    const { call, sandbox, wallet } = offer
    const args = ['call', call.url, '--body', call.body, '--max-price', call.price]
    const { code, stdout, stderr } = await svc(args, {
      SVC_SANDBOX: sandbox,
      SVC_MNEMONIC: wallet.mnemonic,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('transaction') })
    expect(JSON.parse(stdout)).toEqual({ word: 'hello' })
    expect((await fetch(`${offer.url}/_svc/audit`)).status).toBe(200)
  })

  it('puts an agent without a network on the sandbox’s, and refuses one that names mainnet, on one line', async () => {
    const named = agentSource('plain').replace(
      'payTo, network, endpoints',
      "payTo, network: 'mainnet', endpoints",
    )
    const unnamed = agentSource('plain').replace('payTo, network, endpoints', 'payTo, endpoints')
    const at = project({ 'agent.mjs': unnamed, 'named.mjs': named })
    const offer = await ready(dev(at, ['agent.mjs', '--sandbox', '--json']).heard)
    expect(offer.manifest.network).toBe('testnet')
    expect(await pay(offer)).toEqual({ word: 'plain' })
    const { heard } = dev(at, ['named.mjs', '--sandbox', '--no-watch'])
    expect(await heard.ended).toBe(1)
    expect(heard.text).toMatch(
      /^svc dev: named\.mjs\nsvc dev: SVC_SANDBOX is set, and a sandbox is never mainnet[^\n]+ \(invalid_network\), at file:[^\n]+named\.mjs:\d+:\d+\n$/,
    )
  })

  it('refuses an address of one’s own that is none, and leaves nothing running', async () => {
    const at = project({ 'agent.mjs': agentSource('mine') })
    const { code, stderr } = await svc(['dev', '--sandbox'], { SVC_PAY_TO: 'ABC' }, { cwd: at.path })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('(invalid_address)') })
  })
})

describe('svc dev', () => {
  it('without a sandbox tells the price for nothing', async () => {
    const at = project({ 'agent.mjs': agentSource('quiet') })
    const payTo = 'A'.repeat(58)
    const { heard } = dev(at, ['agent.mjs'], { SVC_PAY_TO: payTo, SVC_NETWORK: 'testnet' })
    await heard.until(
      /Sayer on http:\/\/127\.0\.0\.1:\d+, testnet, paid to A{58}\n {2}POST \S+\/say {2}\$0\.01\n/,
    )
    await heard.until(/ svc quote \S+\/say --body '\{"to":"it'\\''s me"\}'\n/)
  })

  it('starts an agent that has ended anew when its sources change', async () => {
    const at = project({
      'src/index.mjs': 'import "./part/word.mjs"',
      'src/part/word.mjs': 'process.exit(7)',
    })
    const { heard } = dev(at, [])
    await heard.until(/src\/index\.mjs ended with code 7; waiting for a change/)
    at.write('src/part/word.mjs', 'console.log("mended")')
    await heard.until(/^mended$/m)
    at.write('src/part/word.mjs', 'import "../later/new.mjs"')
    await heard.until(
      /^svc dev: Cannot find module '.*new\.mjs' imported from .*word\.mjs \(module_not_found\)$/m,
    )
    at.write('src/later/new.mjs', 'console.log("came later")')
    await heard.until(/^came later$/m)
    expect(heard.text).not.toMatch(/^ +at /m)
  })

  const hosts: [string, () => string][] = [
    [NODE_20, () => node20],
    [NODE_24, () => node24],
  ]
  it.each(hosts)(
    'on Node %s starts anew for what the agent imports, wherever it is, and for nothing else',
    async (_, node) => {
      const at = project({
        'app/agent.mjs': `
        import { mkdirSync, writeFileSync } from 'node:fs'
        import '../shared/beside.mjs'
        import required from '../shared/required.cjs'
        mkdirSync('app/dist', { recursive: true })
        for (const file of ['bought.json', 'dist/built.js', 'other.mjs']) writeFileSync('app/' + file, '{}')
        setInterval(() => {}, 1e6)
        process.on('SIGTERM', () => process.exit())
        await required
        console.log('started')`,
        'shared/beside.mjs': '',
        'shared/required.cjs':
          'require("./deep.cjs"); module.exports = new Promise(resolve => require("net").createServer().listen(0, resolve))',
        'shared/deep.cjs': '',
      })
      const { heard } = dev(at, ['app/agent.mjs'], {}, node())
      for (const file of ['shared/beside.mjs', 'shared/deep.cjs', 'app/agent.mjs']) {
        await heard.until(/^started$/m)
        at.write(file, file === 'app/agent.mjs' ? 'console.log("started")' : '// changed')
        at.write('shared/unrelated.js', String(Math.random()))
      }
      await heard.until(/^started$/m)
      expect(heard.text.match(/sources changed/g)).toHaveLength(3)
    },
  )

  it('lends its own SDK to a folder without one, and says so once', async () => {
    const at = project({ 'agent.mjs': agentSource('lent') })
    rmSync(join(at.path, 'node_modules'), { recursive: true })
    const { heard } = dev(at, ['--sandbox', '--json'])
    expect(await pay(await ready(heard))).toEqual({ word: 'lent' })
    at.write('agent.mjs', agentSource('again'))
    expect(await pay(await ready(heard))).toEqual({ word: 'again' })
    expect(heard.text.match(/no @svc\/sdk is installed here/g)).toHaveLength(1)
  })

  it('takes the agent with it when it is killed', async () => {
    const at = project({ 'agent.mjs': agentSource('orphan') })
    const { child, heard } = dev(at, ['--sandbox', '--json'])
    const { url } = await ready(heard)
    child.kill('SIGKILL')
    // The streams close when the last process that holds them has ended.
    await heard.ended
    expect(await isServing(url)).toBe(false)
  })

  it('that is killed lets the calls in flight finish: nobody hears what they report', async () => {
    const ending = `
      import { channel } from 'node:diagnostics_channel'
      process.on('SIGTERM', () => {
        channel('svc.call.ended').publish({ endpoint: {}, call: {} })
        setImmediate(() => process.exit(console.log('finished')))
      })
      setInterval(() => {}, 1_000)
      console.log('started')
    `
    const { child, heard } = dev(project({ 'agent.mjs': ending }), ['--no-watch'])
    await heard.until(/^started$/m)
    child.kill('SIGKILL')
    await heard.ended
    expect(heard.text).toMatch(/^finished$/m)
  })

  it('lets a call in flight finish, and gives up on it when asked again', async () => {
    const slow = `
      import { createServer } from 'node:http'
      process.on('SIGINT', () => console.log('asked to end'))
      process.on('SIGTERM', () => { console.log('ending'); process.exit(5) })
      createServer().listen(0, () => console.log('up'))`
    const at = project({ 'agent.mjs': slow })
    const { child, heard } = dev(at, [])
    await heard.until(/^up$/m)
    child.kill('SIGINT')
    await heard.until(/^asked to end$/m)
    const again = setInterval(() => child.kill('SIGTERM'), 100)
    // A process that is ending handles no signal any more.
    await heard.until(/^ending$/m)
    clearInterval(again)
    expect(await heard.ended).toBe(5)
    expect(heard.text.match(/asked to end/g)).toHaveLength(1)
  })

  it('runs once with --no-watch, and ends as the agent does', async () => {
    const at = project({ 'agent.mjs': 'process.exit(3)' })
    expect(await svc(['dev', '--no-watch'], {}, { cwd: at.path })).toMatchObject({ code: 3, stdout: '' })
  })

  it('sets the port that it is told', async () => {
    const at = project({ 'agent.mjs': 'console.log(process.env.PORT)' })
    const { stdout } = await svc(['dev', '--no-watch', '--port', '4999'], {}, { cwd: at.path })
    expect(stdout).toBe('4999\n')
  })

  it('takes the next free port where nobody named one, and says so', async () => {
    const taken = createServer().listen(4021)
    // Another program may have it: as good.
    await new Promise(resolve => taken.once('listening', resolve).once('error', resolve))
    const env = { PORT: '', SVC_PAY_TO: PAY_TO, SVC_NETWORK: 'testnet' }
    const { heard } = dev(project({ 'index.js': agentSource('hello') }), ['--no-watch'], env)
    const [, port] = await heard.until(/^Port 4021 is in use: listening on (40\d\d)$/m)
    await heard.until(new RegExp(`on http://127\\.0\\.0\\.1:${port}, testnet`))
    taken.close()
  })
})

describe('svc dev without an entry', () => {
  const says = (word: string) => `console.log('${word}')`
  const found: [string, Record<string, string>, string][] = [
    [
      'src/index before all',
      { 'src/index.js': says('src'), 'index.js': says('root'), 'agent.js': says('agent') },
      'src',
    ],
    ['index before agent', { 'index.mjs': says('root'), 'agent.js': says('agent') }, 'root'],
    [
      'agent before "main"',
      { 'agent.js': says('agent'), 'lib/a.js': says('main'), 'package.json': '{"main":"lib/a.js"}' },
      'agent',
    ],
    ['"main" of package.json', { 'lib/a.js': says('main'), 'package.json': '{"main":"./lib/a.js"}' }, 'main'],
  ]
  for (const [name, files, word] of found) {
    it(`takes ${name}`, async () => {
      const { stdout } = await svc(['dev', '--no-watch'], {}, { cwd: project(files).path })
      expect(stdout).toBe(`${word}\n`)
    })
  }

  const refused: [string, Record<string, string>, string[], string][] = [
    ['where there is none', {}, [], 'entry_not_found'],
    ['where the named one is not there', { 'agent.js': '' }, ['other.js'], 'entry_not_found'],
    ['where package.json is broken', { 'package.json': '{' }, [], 'entry_not_found'],
    ['that is TypeScript, on Node 20', { 'src/index.ts': '' }, [], 'typescript_unsupported'],
  ]
  for (const [name, files, args, code] of refused) {
    it(`refuses an entry ${name}`, async () => {
      const run = await svc(['dev', ...args], {}, { cwd: project(files).path, node: node20 })
      expect(run).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`^svc: .+ \\(${code}\\)\\n$`)),
      })
    })
  }
})

it('an agent that cannot start is told on one line, with what to do and the line that it comes from', async () => {
  const made = project({
    'index.js': agentSource('hello'),
    'breaks.js': "throw new Error('of its own')\n",
  })
  const taken = createServer().listen(0)
  const { port } = taken.address() as AddressInfo
  const late = dev(made, ['--no-watch'], {
    PORT: String(port),
    SVC_PAY_TO: PAY_TO,
    SVC_NETWORK: 'testnet',
  }).heard
  const own = dev(made, ['breaks.js', '--no-watch']).heard
  const unpaid = dev(made, ['--no-watch']).heard
  expect([await own.ended, await unpaid.ended, await late.ended]).toEqual([1, 1, 1])
  taken.close()
  expect(unpaid.text).toMatch(
    /^svc dev: [^\n]+\nsvc dev: payTo is missing: [^\n]+ Set SVC_PAY_TO, or add --sandbox \(invalid_address\), at file:[^\n]+index\.js:\d+:\d+\n$/,
  )
  expect(own.text).toMatch(/Error: of its own\n\s+at /)
  expect(late.text).toMatch(/^svc dev: Port \d+ is in use: [^\n]+ \(port_in_use\)/m)
})
