/** What `npm run demo` and `npm start` run, and the lines they ask to be pasted. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { referenceAgent } from '../../agents/reference/agent.js'
import { serveReference } from '../../agents/reference/serve.js'
import { ALGORAND_TESTNET, networkFrom, SvcClient } from '../../src/index.js'
import { startSandbox } from '../../src/sandbox.js'
import { bundled } from '../support/bundled.js'
import { messageIn, post, rpc } from '../support/doors.js'
import { LOCALNET } from '../support/localnet.js'

const run = promisify(execFile)
const env = { PATH: process.env.PATH }
/** It starts many times. */
const START = await bundled('dist/agents/reference/start.js')

describe('the demo', () => {
  it('shows one paid call and ends', async () => {
    const { stdout, stderr } = await run(process.execPath, ['dist/agents/reference/demo.js'], { env })
    expect(stderr).toBe('')
    for (const text of ['402', 'signed by the payer', 'settled it in round', 'harbour', '$99.99']) {
      expect(stdout).toContain(text)
    }
    // A sentence for each step, and its name in the drawing after it.
    expect(stdout).toMatch(/A window or a balance: none came with it\. +entitling uncovered\n/)
    expect(stdout).toMatch(/answered and charged +settled\n/)
    expect(stdout).not.toContain('\u001b')
  })
})

describe('start', () => {
  it('stays up, and what it asks to be pasted runs', async () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const [command, ...given] = scripts.start.split(' && ').at(-1).split(' ')
    expect(command).toBe('node')
    const child = spawn(process.execPath, given, { env: { ...env, PORT: '0' } })
    const closed = new Promise<number | null>(resolve => child.on('close', resolve))
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith('  export ') || line.startsWith('  node ')) lines.push(line)
      if (line.includes('Ctrl-C')) break
    }
    expect(lines).toHaveLength(4)
    const { stdout, stderr } = await run('bash', ['-euc', lines.join('\n')], { env })
    expect(stdout).toContain('price        $0.01')
    expect(JSON.parse(stdout.slice(stdout.indexOf('{')))).toMatchObject({
      summary: expect.stringContaining('harbour'),
    })
    expect(stderr).toMatch(/transaction +[A-Z2-7]{52}/)
    child.kill('SIGINT')
    expect(await closed).toBe(0)
  })

  it('with an address sells for real, under /api, and refuses what is no address', async () => {
    const address = 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM'
    const child = spawn(process.execPath, [START], {
      env: {
        ...env,
        PORT: '0',
        SVC_PAY_TO: address,
        SVC_NETWORK: 'testnet',
        SVC_SANDBOX: 'http://127.0.0.1:9',
      },
    })
    const closed = new Promise<number | null>(resolve => child.on('close', resolve))
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line)
      if (line.includes('/health')) break
    }
    expect(lines[0]).toMatch(/^listening on port \d+ \(testnet\)$/)
    expect(lines).toContain('  POST /api/summarize')
    child.kill('SIGTERM')
    expect(await closed).toBe(0)
    const bad = run(process.execPath, [START], {
      env: { ...env, SVC_PAY_TO: 'me' },
    })
    await expect(bad).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^svc: [^\n]+ \(invalid_address\)\n$/),
    })
  })
})

describe('specification 4.6: SVC_PAY_TO is required', () => {
  const image = JSON.parse(/^CMD (.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))![1]!) as string[]
  const missing = {
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^(Play money: .+\n)?svc: SVC_PAY_TO is missing[^\n]+\n$/),
  }

  it.each<[string, readonly string[], Record<string, string>]>([
    ['by itself', [START], {}],
    ['in production', [START], { NODE_ENV: 'production' }],
    ['as the image runs it', image.slice(1), { NODE_ENV: 'production', PORT: '4021' }],
    ['set to nothing', [START], { SVC_PAY_TO: '' }],
    ['for mainnet, also where a sandbox would do', [START, '--or-sandbox'], { SVC_NETWORK: 'mainnet' }],
    [
      'for mainnet, also where one is named',
      [START],
      { SVC_NETWORK: 'mainnet', SVC_SANDBOX: 'http://127.0.0.1:9' },
    ],
    ['with a sandbox that is not there', [START], { SVC_SANDBOX: 'http://127.0.0.1:9' }],
  ])('%s: without it the reference agent does not start, and says so', async (_, given, set) => {
    expect(image[0]).toBe('node')
    const started = run(process.execPath, [...given], { env: { ...env, ...set }, timeout: 100_000 })
    await expect(started).rejects.toMatchObject(missing)
  })

  it('practising on a port that is taken, it says so, and how to name another', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const started = run(process.execPath, [START, '--or-sandbox'], { env: { ...env, PORT: String(port) } })
    await expect(started.finally(() => taken.close())).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`svc: Port ${port} is in use: name another \\(PORT[^\\n]+\\(port_in_use\\)\\n`),
      ),
    })
  })

  it('on a sandbox that was named, its seller is paid', async () => {
    const sandbox = await startSandbox()
    const child = spawn(process.execPath, [START], {
      env: { ...env, PORT: '0', SVC_SANDBOX: sandbox.url, NODE_ENV: 'production' },
    })
    try {
      const [warned] = await once(createInterface({ input: child.stderr }), 'line')
      expect(warned).toBe(`Play money: node and facilitator are the sandbox at ${sandbox.url}`)
      const [first] = await once(createInterface({ input: child.stdout }), 'line')
      const port = /^listening on port (\d+) \(testnet\)$/.exec(first)![1]
      const health = await fetch(`http://127.0.0.1:${port}/api/health`)
      expect(await health.json()).toMatchObject({ payTo: sandbox.seller.address })
    } finally {
      child.kill('SIGKILL')
      await sandbox.close()
    }
  })
})

it('specification 2.2 and 4.4.1: the registry that the environment names is in the card, and is searched', async () => {
  const sandbox = await startSandbox()
  const { registry, seller } = sandbox
  const agentId = registry.register({ domain: 'agent.example', address: seller.address })
  registry.score(agentId, { jobsPaid: 7n })
  const child = spawn(process.execPath, [START], {
    env: {
      ...env,
      PORT: '0',
      SVC_PAY_TO: seller.address,
      SVC_SANDBOX: sandbox.url,
      SVC_IDENTITY_APP: String(registry.identityApp),
      SVC_REPUTATION_APP: String(registry.reputationApp),
      SVC_VALIDATION_APP: String(registry.validationApp),
      SVC_AGENT_ID: String(agentId),
    },
  })
  try {
    const [first] = await once(createInterface({ input: child.stdout }), 'line')
    const url = `http://127.0.0.1:${/port (\d+)/.exec(first)![1]}`
    const card = (await (await fetch(`${url}/.well-known/agent.json`)).json()) as AgentCard
    const claimed = card.capabilities.extensions.find(({ uri }) => uri.endsWith('/a2a/ext/registry/v1'))
    const { identityApp, reputationApp, validationApp } = registry
    expect(claimed?.params).toMatchObject({ agentId, identityApp, reputationApp, validationApp })
    const query = { query: 'agent.example', withReputation: true }
    const call = { name: 'search_agents', arguments: query }
    const found = await messageIn(await post(`${url}/mcp`, rpc('tools/call', call)))
    expect(found.result?.structuredContent).toMatchObject({
      identityApp,
      agents: [{ agentId, cardUrl: 'https://agent.example/.well-known/agent.json', score: { jobsPaid: 7 } }],
    })
  } finally {
    child.kill('SIGKILL')
    await sandbox.close()
  }
})

interface AgentCard {
  readonly capabilities: { readonly extensions: readonly { readonly uri: string; readonly params: object }[] }
}

describe('the environment', () => {
  const SVC_PAY_TO = 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM'
  const SVC_SANDBOX = 'http://127.0.0.1:9'

  it('chooses the catalogue by the network', () => {
    const soldOn = (network: 'mainnet' | 'testnet') =>
      referenceAgent({ payTo: SVC_PAY_TO, network, sources: {} as never }).endpoints.map(({ name }) => name)
    expect(soldOn('mainnet')).toEqual(['x402-check', 'payee-check', 'summarize', 'verify-settlement'])
    expect(soldOn('testnet')).toEqual(['summarize'])
  })

  it('chooses the network, and the Redis that replicas share', async () => {
    const child = spawn(process.execPath, [START], {
      env: {
        ...env,
        PORT: '0',
        SVC_PAY_TO,
        SVC_SANDBOX,
        SVC_NETWORK: 'testnet',
        REDIS_URL: 'redis://127.0.0.1:9',
      },
    })
    const closed = new Promise<number | null>(resolve => child.on('close', resolve))
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line)
      if (line.includes('/health')) break
    }
    expect(lines).toContain('  POST /api/summarize')
    const port = /port (\d+) \(testnet\)/.exec(lines.join('\n'))![1]
    const health = await fetch(`http://127.0.0.1:${port}/api/health`)
    // No restart cures a Redis that is away.
    expect(health.status).toBe(200)
    expect(await health.json()).toMatchObject({
      agent: 'reference-agent',
      payTo: SVC_PAY_TO,
      network: ALGORAND_TESTNET,
    })
    const ready = await fetch(`http://127.0.0.1:${port}/api/ready`)
    const without = { code: 'store_unavailable' }
    expect(await ready.json()).toMatchObject({
      why: expect.arrayContaining([expect.objectContaining(without)]),
    })
    child.kill('SIGTERM')
    expect(await closed).toBe(0)
  })

  it('names a file that defines a network, on which it is paid', async () => {
    const sandbox = await startSandbox({ network: LOCALNET })
    const folder = mkdtempSync(join(tmpdir(), 'svc-reference-'))
    const file = join(folder, 'localnet.json')
    writeFileSync(file, JSON.stringify(sandbox.network))
    const child = spawn(process.execPath, [START], {
      env: { ...env, PORT: '0', SVC_PAY_TO: sandbox.seller.address, SVC_NETWORK: file },
    })
    try {
      const [first] = await once(createInterface({ input: child.stdout }), 'line')
      const url = `http://127.0.0.1:${/port (\d+) \(localnet\)/.exec(first)![1]}/api/summarize`
      const client = new SvcClient({
        mnemonic: sandbox.wallet.mnemonic,
        network: networkFrom(file),
        maxPrice: '$0.01',
      })
      const { payment } = await client.call(url, { text: 'A harbour closes. It was old.' })
      expect(payment).toMatchObject({ asset: '1002', amount: '10000' })
      expect(sandbox.balance(sandbox.seller.address).usdc).toBe(10_000n)
    } finally {
      child.kill('SIGKILL')
      await sandbox.close()
      rmSync(folder, { recursive: true })
    }
  })

  for (const [code, wrong] of [
    ['invalid_options', { SVC_IDENTITY_APP: 'one' }],
    ['invalid_options', { SVC_REPUTATION_APP: '0' }],
    ['invalid_options', { SVC_VALIDATION_APP: '-1' }],
    ['invalid_options', { SVC_AGENT_ID: '1e3' }],
    ['invalid_network', { SVC_NETWORK: 'devnet' }],
    ['invalid_address', { SVC_PAY_TO: 'me' }],
    ['invalid_address', { SVC_PAY_TO: undefined }],
  ] as const) {
    it(`is refused where it is wrong: ${JSON.stringify(wrong)}`, () => {
      const start = () => serveReference({ SVC_PAY_TO, SVC_SANDBOX, ...wrong })
      expect(start).toThrow(expect.objectContaining({ code }))
    })
  }
})
