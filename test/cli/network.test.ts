/** A network of one's own on the command line: by a file, in a flag or in the environment, and under its own names. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { MAINNET, TESTNET } from '../../src/domain/network.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import { defineEndpoint, networkFrom } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { eventually } from '../support/eventually.js'
import { LOCALNET } from '../support/localnet.js'
import { openSeller, type Seller } from '../support/seller.js'
import { firstLine, start, svc } from './run.js'

const { caip2 } = networkFacts(LOCALNET)
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })

let folder: string
let sandbox: Sandbox
let seller: Seller
let file: string

const written = async (name: string, content: unknown): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-network-'))
  sandbox = await startSandbox({ network: LOCALNET })
  file = await written('localnet.json', sandbox.network)
  const journal = join(folder, 'runs.jsonl')
  seller = await openSeller([work], { sandbox, about: { network: networkFrom(file) }, journal })
})
afterAll(async () => {
  await seller.close()
  await sandbox.close()
  await rm(folder, { recursive: true })
})

const received = () => sandbox.balance(sandbox.seller.address).usdc ?? 0n
const byFlag = () => ({ args: ['--network', file], env: {} })
const byEnvironment = () => ({ args: [], env: { SVC_NETWORK: file } })

describe.each([
  ['--network', byFlag],
  ['SVC_NETWORK', byEnvironment],
])('%s with a file', (_, said) => {
  it('is where svc call pays', async () => {
    const { args, env } = said()
    const before = received()
    const called = await svc(['call', `${seller.url}/work`, '--max-price', '0.01', '--json', ...args], {
      SVC_MNEMONIC: sandbox.wallet.mnemonic,
      ...env,
    })
    expect(called.stderr).toBe('')
    expect(JSON.parse(called.stdout)).toMatchObject({ status: 200, payment: { asset: '1002', usd: 0.01 } })
    expect(received() - before).toBe(10_000n)
  })

  it('is what svc doctor examines', async () => {
    const { args, env } = said()
    const to = ['--pay-to', sandbox.seller.address]
    const { code, stdout } = await svc(['doctor', '--json', ...to, ...args], env)
    const { ok, network, findings } = JSON.parse(stdout) as {
      ok: boolean
      network: string
      findings: { check: string; message: string }[]
    }
    expect([code, ok, network]).toEqual([0, true, caip2])
    const told = Object.fromEntries(findings.map(({ check, message }) => [check, message]))
    expect(told['Algorand node']).toContain(`${sandbox.url} is on localnet`)
    expect(told.asset).toBe('1002, is USDC, with 6 decimals')
    expect(told.facilitator).toContain('exact payments on localnet')
  })

  it('is where svc wallet looks', async () => {
    const { args, env } = said()
    const { stdout } = await svc(['wallet', 'balance', sandbox.seller.address, '--json', ...args], env)
    expect(JSON.parse(stdout)).toMatchObject({ network: caip2, usdc: String(received()) })
  })
})

describe('a network of one’s own', () => {
  it('has its name where people read', async () => {
    const [doctor, wallet, quote] = await Promise.all([
      svc(['doctor', '--pay-to', sandbox.seller.address], { SVC_NETWORK: file }),
      svc(['wallet', 'balance', sandbox.seller.address], { SVC_NETWORK: file }),
      svc(['quote', `${seller.url}/work`], { SVC_NETWORK: file }),
    ])
    expect(doctor.stdout).toContain('on localnet')
    expect(wallet.stdout).toMatch(/\nnetwork +localnet\n/)
    expect(quote.stdout).toMatch(/^price +\$0\.01\n/)
    expect(quote.stdout).toContain(`localnet (${caip2})`)
    // Both spellings are one entry.
    expect(quote.stdout.match(/^price/gm)).toHaveLength(1)
  })

  it('has its own index, which its facilitator keeps', async () => {
    await svc(['call', `${seller.url}/work`, '--max-price', '0.01'], {
      SVC_MNEMONIC: sandbox.wallet.mnemonic,
      SVC_NETWORK: file,
    })
    const nameless = await written('no-facilitator.json', LOCALNET)
    const [bazaar, doctor, none] = await Promise.all([
      svc(['bazaar'], { SVC_NETWORK: file }),
      svc(['doctor', '--bazaar', seller.url, '--network', file]),
      svc(['bazaar'], { SVC_NETWORK: nameless }),
    ])
    expect(bazaar).toMatchObject({ code: 0, stdout: `${seller.url}/work  $0.01 on localnet\n` })
    expect(doctor.stdout).toMatch(/\nlisted +ok +1 of 1 resources/)
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('no facilitator for localnet') })
  })

  it('is asked about the journal that names it, and about no other', async () => {
    await svc(['call', `${seller.url}/work`, '--max-price', '0.01'], {
      SVC_MNEMONIC: sandbox.wallet.mnemonic,
      SVC_NETWORK: file,
    })
    const journal = join(folder, 'runs.jsonl')
    // It is written a tenth of a second after a call.
    const charged = seller.ended.filter(call => call.charged === 'yes')
    await eventually(async () => {
      const text = await readFile(journal, 'utf8')
      expect(charged.filter(({ txId }) => !text.includes(txId!))).toEqual([])
    })
    const audit = ['audit', journal, '--json', '--to', new Date().toISOString()]
    const booked = await svc([...audit, '--network', file])
    expect(JSON.parse(booked.stdout)).toMatchObject({
      books: { network: caip2, asset: '1002' },
      differences: [],
    })
    const unnamed = await svc(audit)
    expect(unnamed).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give its definition (--network)'),
    })
    const other = await svc([...audit, '--network', 'testnet'])
    expect(other.stderr).toContain(`The journal is of ${caip2}, not of testnet`)
  })

  it('may be emulated by svc sandbox', async () => {
    const child = start(['sandbox', '--port', '0', '--network', file, '--json'])
    const told = JSON.parse(await firstLine(child)) as { algodUrl: string; network: object }
    expect(told.network).toMatchObject({ ...LOCALNET, algodUrl: told.algodUrl })
    child.kill('SIGINT')
    expect((await svc(['sandbox', '--network', 'mainnet'])).stderr).toContain('A sandbox is never mainnet')
  })

  it('fails doctor with another node, and with an asset that is not there', async () => {
    const other = await startSandbox()
    const to = ['doctor', '--json', '--pay-to', sandbox.seller.address]
    const wrong = await svc([...to, '--network', file, '--algod', other.url])
    await other.close()
    const failures = (stdout: string) =>
      (JSON.parse(stdout) as { findings: { check: string; status: string; cure?: string }[] }).findings
        .filter(({ status }) => status === 'failed')
        .map(({ check }) => check)
    expect(failures(wrong.stdout)).toEqual(['USDC opt-in', 'Algorand node', 'asset'])
    const unmade = await written('unmade.json', { ...(sandbox.network as object), usdc: 7 })
    const missing = await svc([...to, '--network', unmade])
    expect(failures(missing.stdout)).toEqual(['USDC opt-in', 'asset'])
  })
})

it.each(['127.0.0.1:4402', 'http://'])('SVC_SANDBOX=%s is refused: it is no URL', async url => {
  const { code, stderr } = await svc(['doctor'], { SVC_SANDBOX: url })
  expect([code, stderr]).toEqual([2, expect.stringContaining('SVC_SANDBOX is no http(s) URL')])
})

describe('a file', () => {
  const { name: _, ...nameless } = LOCALNET
  it.each<[string, unknown, string]>([
    ['that is no JSON', 'network', 'is not a JSON object'],
    ['without a name', nameless, 'name is 1 to 64 letters'],
    ['that lies about mainnet', { ...LOCALNET, genesisHash: MAINNET.genesisHash }, "hash is mainnet's"],
    ['with a name alone', '"mainnet"', 'is not a JSON object'],
  ])('%s is refused, in a flag and in the environment', async (what, content, why) => {
    const path = await written(`${what}.json`, content)
    const [flag, environment] = await Promise.all([
      svc(['doctor', '--network', path]),
      svc(['doctor'], { SVC_NETWORK: path }),
    ])
    for (const { code, stderr } of [flag, environment]) {
      expect(code).toBe(2)
      expect(stderr).toContain(why)
    }
    expect(() => networkFrom(path)).toThrow(expect.objectContaining({ code: 'invalid_network' }))
  })

  it('that is not there is refused, and named', async () => {
    const { code, stderr } = await svc(['doctor'], { SVC_NETWORK: 'betanet' })
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("a JSON file that defines one, not 'betanet'"),
    ])
  })

  it('is not needed for a public network, and nothing means mainnet, or testnet with a sandbox', () => {
    expect(networkFrom('testnet')).toBe('testnet')
    const unnamed = () => [undefined, ''].map(networkFrom)
    expect(unnamed()).toEqual(['mainnet', 'mainnet'])
    vi.stubEnv('SVC_SANDBOX', sandbox.url)
    expect(unnamed()).toEqual(['testnet', 'testnet'])
    vi.unstubAllEnvs()
    expect(networkFacts(networkFrom('testnet'))).toBe(TESTNET)
  })
})
