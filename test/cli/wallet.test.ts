/** `svc wallet`: words that no argument carries, and an account that gets ready for USDC step by step. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { MAINNET, type NetworkFacts, TESTNET } from '../../src/domain/network.js'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { fakeNode } from '../support/fake-node.js'
import { faultyNode } from '../support/faulty-node.js'
import { open } from '../support/seller.js'
import { ended, hear, inTerminal, MAIN, start, svc } from './run.js'

let sandbox: Sandbox
let folder: string
beforeAll(async () => {
  sandbox = await startSandbox()
  folder = await mkdtemp(join(tmpdir(), 'svc-wallet-'))
})
afterAll(async () => {
  await sandbox.close()
  await rm(folder, { recursive: true })
})

const env = () => ({ SVC_SANDBOX: sandbox.url })

/** Runs it with the words on standard input. */
function fed(words: string, args: readonly string[], more: Record<string, string> = {}) {
  const child = start(['wallet', ...args], { ...env(), ...more })
  child.stdin!.end(words)
  return ended(child)
}

async function made(): Promise<{ address: string; mnemonic: string }> {
  const { stdout } = await svc(['wallet', 'new', '--json'])
  return JSON.parse(stdout)
}

async function fund(address: string, microAlgos: number): Promise<void> {
  const body = JSON.stringify({ address, microAlgos })
  const funded = await fetch(`${sandbox.url}/sandbox/fund`, { method: 'POST', body })
  expect(funded.status).toBe(200)
}

/** A node of a network, with one account: JSON as it is sent, because its integers are longer than ours. */
async function nodeOf({ genesisHash, genesisId }: NetworkFacts, account: string, holding: string) {
  const params = JSON.stringify({
    'last-round': 1,
    'min-fee': 1_000,
    'genesis-hash': genesisHash,
    'genesis-id': genesisId,
  })
  return closing(
    await fakeNode((path, response) => {
      const answer = path.endsWith('/params') ? params : path.includes('/assets/') ? holding : account
      response.setHeader('content-type', 'application/json').end(answer)
    }),
  )
}

describe('svc wallet new', () => {
  it('prints words that sign for its address, others each time', async () => {
    const [one, other] = await Promise.all([made(), made()])
    expect(one.mnemonic.split(' ')).toHaveLength(25)
    expect(signingKey(one.mnemonic).address).toBe(one.address)
    expect(other.address).not.toBe(one.address)
  })

  it('writes them to a file that only its owner can read, and never over another', async () => {
    const file = join(folder, 'words.txt')
    const { code, stdout, stderr } = await svc(['wallet', 'new', '--out', file])
    const words = await readFile(file, 'utf8')
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain(words.trim())
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await fed(words, ['address'])).stdout.trim()).toBe(signingKey(words.trim()).address)
    const again = await svc(['wallet', 'new', '--out', file])
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('(file_exists)')])
    expect(await readFile(file, 'utf8')).toBe(words)
  })

  it('leaves no file where the disk took none of the words', async () => {
    const file = join(folder, 'full.txt')
    // A process that ignores the signal hears EFBIG for each byte.
    const limited = `ulimit -f 0; trap '' XFSZ; exec "$0" "$@"`
    const made = await ended(
      spawn('sh', ['-c', limited, process.execPath, MAIN, 'wallet', 'new', '--out', file]),
    )
    expect([made.code, made.stdout]).toEqual([1, ''])
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('the words', () => {
  it('come from the environment, or from standard input', async () => {
    const { address, mnemonic } = await made()
    const fromEnvironment = await fed('', ['address'], { SVC_MNEMONIC: mnemonic })
    const fromInput = await fed(`  ${mnemonic.replaceAll(' ', '\n')}\n`, ['address'])
    expect([fromEnvironment.stdout.trim(), fromInput.stdout.trim()]).toEqual([address, address])
  })

  it.each([
    ['missing', '', 'no_signer'],
    ['wrong', 'secretive horse battery', 'invalid_key'],
  ])('are told to be %s, and not repeated', async (_, words, code) => {
    const { code: exit, stderr } = await fed(words, ['address'])
    expect([exit, stderr]).toEqual([2, expect.stringContaining(`(${code})`)])
    expect(stderr).not.toContain('secretive')
  })
})

describe('an account', () => {
  it('is told what it lacks, step by step, until it holds USDC', async () => {
    const { address, mnemonic } = await made()
    const missing = async () =>
      JSON.parse((await svc(['wallet', 'balance', address, '--json'], env())).stdout).missing
    const optIn = () => fed(mnemonic, ['optin', '--json'])
    expect(await missing()).toEqual([
      'It needs 0.201 ALGO more before it can opt in to USDC',
      'It is not opted in to USDC: svc wallet optin',
    ])
    const tooEarly = await optIn()
    expect([tooEarly.code, tooEarly.stderr]).toEqual([1, expect.stringContaining('(insufficient_algo)')])
    await fund(address, 201_000)
    expect(await missing()).toEqual(['It is not opted in to USDC: svc wallet optin'])
    const { txId } = JSON.parse((await optIn()).stdout)
    expect(sandbox.transactions().at(-1)?.txId).toBe(txId)
    expect(sandbox.balance(address)).toMatchObject({ microAlgos: 200_000n, usdc: 0n })
    expect(JSON.parse((await optIn()).stdout)).toMatchObject({ alreadyOptedIn: true })
    expect(sandbox.transactions().at(-1)?.txId).toBe(txId)
    expect(await missing()).toEqual(['It holds no USDC: it can be paid, and cannot pay'])
  })

  it('is opted in where the node carries it out and its answer is lost', async () => {
    const { address, mnemonic } = await made()
    await fund(address, 201_000)
    const node = closing(await faultyNode(sandbox))
    node.set('submit', 'die-after')
    const { code, stdout } = await fed(mnemonic, ['optin', '--json', '--algod', node.url])
    expect([code, JSON.parse(stdout).txId]).toEqual([0, sandbox.transactions().at(-1)?.txId])
    expect(sandbox.balance(address)).toMatchObject({ usdc: 0n })
  })

  it('is opted in where a proxy sends the transfer twice, and passes on the second answer', async () => {
    const { address, mnemonic } = await made()
    await fund(address, 201_000)
    const node = closing(await faultyNode(sandbox))
    node.set('submit', 'twice')
    const { code, stdout } = await fed(mnemonic, ['optin', '--json', '--algod', node.url])
    expect([code, JSON.parse(stdout).txId]).toEqual([0, sandbox.transactions().at(-1)?.txId])
  })

  it.each([
    ['may still land', 1, 'optin_unknown', 4],
    ['cannot land any more', 20, 'optin_refused', 1],
  ])('is told of a transfer that the node dropped whether it %s', async (_, rounds, error, exit) => {
    const { address, mnemonic } = await made()
    await fund(address, 201_000)
    const node = closing(await faultyNode(sandbox))
    node.pool()
    const opting = fed(mnemonic, ['optin', '--algod', node.url])
    await node.pooled()
    sandbox.advanceRounds(rounds)
    node.drop('the pool is full')
    const { code, stderr } = await opting
    expect([code, stderr]).toEqual([exit, expect.stringContaining(`dropped it: the pool is full`)])
    expect(stderr).toContain(`(${error})`)
    expect(stderr).not.toContain('refused the opt-in')
  })

  it('shows its holdings to people, beyond 2^53 base units as well', async () => {
    const address = sandbox.wallet.address
    const node = await nodeOf(
      TESTNET,
      '{"amount":9007199254740993,"min-balance":200000}',
      '{"asset-holding":{"amount":18446744073709551615,"is-frozen":false}}',
    )
    const { stdout } = await svc(['wallet', 'balance', address, '--algod', node.url], env())
    expect(stdout).toContain('9007199254.740993 (0.2 must stay)')
    expect(stdout).toContain('18446744073709.551615')
  })

  it('is not taken from another network, and on mainnet somebody must agree', async () => {
    const { mnemonic } = await made()
    const other = await fed(mnemonic, ['optin', '--network', 'mainnet'])
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('(network_mismatch)')])
    const node = await nodeOf(MAINNET, '{"amount":1000000,"min-balance":100000}', '{}')
    const silent = await fed(mnemonic, ['optin', '--network', 'mainnet', '--algod', node.url])
    expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining('(not_confirmed)')])
    for (const no of ['n\n', '\u0003', '\u0004']) {
      const args = ['wallet', 'optin', '--network', 'mainnet', '--algod', node.url]
      const person = inTerminal(args, { SVC_MNEMONIC: mnemonic })
      const heard = hear(person)
      await heard.until(/\[y\/N\]/)
      person.stdin!.write(no)
      await heard.until(/Nothing was sent \(not_confirmed\)/)
      expect(await heard.ended).toBe(2)
    }
  })
})

describe('the wallet', () => {
  async function file(mode: number): Promise<{ address: string; path: string }> {
    const { address, mnemonic } = await made()
    const path = join(folder, `${address}.txt`)
    await writeFile(path, `${mnemonic}\n`, { mode })
    return { address, path }
  }

  /** As the shell opens it: `svc … < file`. */
  function redirected(path: string, args: readonly string[], more: Record<string, string>) {
    const input = openSync(path, 'r')
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env.PATH, ...env(), ...more },
      stdio: [input, 'pipe', 'pipe'],
    })
    const end = ended(child as ChildProcess)
    closeSync(input)
    return end
  }

  it('is a file that only its owner can use', async () => {
    const { address, path } = await file(0o600)
    const { stdout, stderr } = await svc(['wallet', 'address', '--wallet', path])
    expect([stdout, stderr]).toEqual([`${address}\n`, `The 25 words come from ${path}.\n`])
    const shared = await file(0o640)
    for (const args of [
      ['wallet', 'address'],
      ['call', 'http://127.0.0.1:9/', '--max-price', '1'],
    ])
      expect(await svc([...args, '--wallet', shared.path])).toEqual({
        ...{ code: 2, stdout: '' },
        stderr: expect.stringMatching(/chmod 600 [^\n]+ \(wallet_file_unusable\)\n$/),
      })
  })

  it('that the command line names goes before the one in the environment, and it is said which', async () => {
    const [one, other, { mnemonic }] = await Promise.all([file(0o600), file(0o600), made()])
    const more = { SVC_MNEMONIC: mnemonic }
    const given = await redirected(one.path, ['wallet', 'address'], more)
    expect([given.stdout, given.stderr]).toEqual([
      `${one.address}\n`,
      'The 25 words come from standard input.\n',
    ])
    const named = await redirected(one.path, ['wallet', 'address', '--wallet', other.path], more)
    expect(named.stdout).toBe(`${other.address}\n`)
    // A pipe may never end: it is read only where there are no other words.
    const piped = await fed('nobody reads this', ['address'], more)
    expect([piped.stdout, piped.stderr]).toEqual([
      `${signingKey(mnemonic).address}\n`,
      'The 25 words come from SVC_MNEMONIC.\n',
    ])
  })

  it('pays for svc call from its file, and never from standard input', async () => {
    const { address, path } = await file(0o600)
    sandbox.fund(address, { usdc: 1_000_000n, optIn: true })
    const endpoint = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
    const { url } = await open([endpoint], { sandbox })
    const args = ['call', `${url}/work`, '--body', '{}', '--max-price', '1']
    const before = sandbox.balance(address).usdc!
    expect(await redirected(path, args, {})).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('(no_signer)'),
    })
    expect(await svc([...args, '--wallet', path], env())).toMatchObject({ code: 0, stdout: '{"done":true}' })
    expect(before - sandbox.balance(address).usdc!).toBe(10_000n)
  })
})
