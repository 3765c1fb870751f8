/** What `npm run demo` and `npm start` run, and the lines they ask to be pasted. */
import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { serveReference } from '../../agents/reference/serve.js'
import { ALGORAND_MAINNET } from '../../src/index.js'

const run = promisify(execFile)
const env = { PATH: process.env.PATH }

describe('the demo', () => {
  it('shows one paid call and ends', async () => {
    const { stdout, stderr } = await run(process.execPath, ['dist/agents/reference/demo.js'], { env })
    expect(stderr).toBe('')
    for (const text of [
      '402',
      'signed by the payer',
      'settled it in round',
      'harbour',
      '$99.99',
      'settling    settled',
    ]) {
      expect(stdout).toContain(text)
    }
    expect(stdout).not.toContain('\u001b')
  })
})

describe('start', () => {
  it('stays up, and what it asks to be pasted runs', async () => {
    const child = spawn(process.execPath, ['dist/agents/reference/start.js'], { env: { ...env, PORT: '0' } })
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
    const child = spawn(process.execPath, ['dist/agents/reference/start.js'], {
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
    const bad = run(process.execPath, ['dist/agents/reference/start.js'], {
      env: { ...env, SVC_PAY_TO: 'me' },
    })
    await expect(bad).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^svc: [^\n]+ \(invalid_address\)\n$/),
    })
  })
})

describe('the environment', () => {
  const SVC_PAY_TO = 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM'
  const SVC_SANDBOX = 'http://127.0.0.1:9'

  it('chooses the catalogue, and the Redis that replicas share', async () => {
    const child = spawn(process.execPath, ['dist/agents/reference/start.js'], {
      env: {
        ...env,
        PORT: '0',
        SVC_PAY_TO,
        SVC_SANDBOX,
        SVC_NETWORK: 'mainnet',
        REDIS_URL: 'redis://127.0.0.1:9',
      },
    })
    const closed = new Promise<number | null>(resolve => child.on('close', resolve))
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line)
      if (line.includes('/health')) break
    }
    for (const name of ['x402-check', 'payee-check', 'summarize', 'verify-settlement'])
      expect(lines).toContain(`  POST /api/${name}`)
    const port = /port (\d+) \(mainnet\)/.exec(lines[0]!)![1]
    const health = await fetch(`http://127.0.0.1:${port}/api/health`)
    expect(health.status).toBe(503)
    expect(await health.json()).toMatchObject({
      agent: 'reference-agent',
      payTo: SVC_PAY_TO,
      network: ALGORAND_MAINNET,
    })
    child.kill('SIGTERM')
    expect(await closed).toBe(0)
  })

  for (const [code, wrong] of [
    ['invalid_options', { SVC_IDENTITY_APP: 'one' }],
    ['invalid_agent', { SVC_NETWORK: 'devnet' }],
    ['invalid_address', { SVC_PAY_TO: 'me' }],
    ['invalid_address', { SVC_PAY_TO: undefined }],
  ] as const) {
    it(`is refused where it is wrong: ${JSON.stringify(wrong)}`, () => {
      const start = () => serveReference({ SVC_PAY_TO, SVC_SANDBOX, ...wrong })
      expect(start).toThrow(expect.objectContaining({ code }))
    })
  }
})
