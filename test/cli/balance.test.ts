/** `svc balance`, `svc call --balance` and `svc mcp`: what one process bought, others take from. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import fs, {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { balanceFile } from '../../cli/balance-file.js'
import { memorySpendLedger } from '../../src/adapters/memory/spend-ledger.js'
import { SvcClient } from '../../src/client.js'
import { defineEndpoint } from '../../src/index.js'
import { bridgeTo } from '../../src/mcp-buyer/mcp-bridge.js'
import { eventually } from '../support/eventually.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { open } from '../support/seller.js'
import { ended, start, svc } from './run.js'

const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
const only = defineEndpoint({
  name: 'only',
  price: '$0.01',
  only: 'balance',
  handler: () => ({ done: true }),
})

it('a balance is bought, used without a wallet, shared by processes at once, and listed without its key', async () => {
  const seller = await open([work, only], { about: { balance: { amounts: ['$0.05'], period: '1h' } } })
  const { sandbox, url } = seller
  const { address, mnemonic } = sandbox.accounts('balance of the command line')
  const before = sandbox.balance(address).usdc!
  const spent = () => before - sandbox.balance(address).usdc!
  const file = join(mkdtempSync(join(tmpdir(), 'svc-balance-')), 'new', 'balances.json')
  // A link to where no file is yet.
  const link = join(dirname(dirname(file)), 'balances.link')
  symlinkSync(join('new', 'balances.json'), link)
  const env = { SVC_SANDBOX: sandbox.url, SVC_BALANCES: file }
  const call = ['call', `${url}/work`, '--body', '{}', '--max-price', '0.01', '--balance']

  expect(await svc(['balance'], env)).toMatchObject({ code: 0, stdout: 'no balances\n' })
  expect((await svc(['quote', `${url}/only`, '--body', '{}'], env)).stdout).toMatch(
    /price +\$0\.05\n[\s\S]*buys +a balance, of which the call takes 10000\n/,
  )
  expect(await svc(call, env)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/no balance .*balance_required/),
  })
  expect(await svc(['balance', '--buy', '0.05'], env)).toMatchObject({ code: 2 })
  expect(await svc(['balance', url, '--buy', '0.05'], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no_signer'),
  })
  expect(spent()).toBe(0n)

  const byLink = { ...env, SVC_BALANCES: link }
  const bought = await svc(['balance', url, '--buy', '0.05'], { ...byLink, SVC_MNEMONIC: mnemonic })
  expect(bought).toMatchObject({ code: 0, stdout: expect.stringMatching(/left +\$0\.05/) })
  expect(spent()).toBe(50_000n)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const key = /"key":"(svc_[^"]+)"/.exec(readFileSync(file, 'utf8'))![1]!

  const calls = await Promise.all([
    svc(call, env),
    svc(call, { ...env, SVC_MNEMONIC: mnemonic }),
    svc(call, byLink),
  ])
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  for (const { code, stdout, stderr } of calls) {
    expect([code, stdout]).toEqual([0, '{"done":true}'])
    expect(stderr).toMatch(/from the balance +\$0\.01/)
  }
  const listed = await svc(['balance', url, '--json'], env)
  expect(JSON.parse(listed.stdout)).toMatchObject({ balances: [{ agent: url }] })
  const last = await svc([...call, '--json'], env)
  expect(JSON.parse(last.stdout)).toMatchObject({ charged: '10000', left: '10000' })
  for (const { stdout, stderr } of [bought, ...calls, listed, last])
    expect(stdout + stderr).not.toContain(key)

  // The bridge of `svc mcp` takes from what is left, too.
  const ledger = memorySpendLedger()
  ledger.balances!({ before: '', after: readFileSync(file, 'utf8') })
  const client = new SvcClient({ network: 'testnet', algodUrl: sandbox.algodUrl, ledger })
  await client.balances()
  const bridge = await bridgeTo(url, client)
  const result = await bridge.call({ name: 'work', args: {}, signal: new AbortController().signal } as never)
  expect(result).toMatchObject({ _meta: { 'svc/balance': { charged: '10000', left: '0' } } })

  expect(await svc(call, env)).toMatchObject({ code: 3 })
  expect(spent()).toBe(50_000n)
})

it('an answer that was taken from the balance and not kept is no end without a charge', async () => {
  const told = defineEndpoint({
    name: 'told',
    price: '$0.01',
    stream: true,
    async *handler({ signal }) {
      yield { n: 1 }
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('left'))))
    },
  })
  const seller = await open([told], { about: { balance: { amounts: ['$0.05'], period: '1h' } } })
  const { sandbox, url } = seller
  const { mnemonic } = sandbox.accounts('a stream that its reader has left')
  const file = join(mkdtempSync(join(tmpdir(), 'svc-balance-')), 'balances.json')
  vi.stubEnv('SVC_BALANCES', file)
  onTestFinished(() => void vi.unstubAllEnvs())
  const ledger = balanceFile(memorySpendLedger())
  const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl, ledger })
  await client.topUp(url, '$0.05')
  const key = { idempotencyKey: 'of-a-stream-that-its-reader-has-left' }
  const { events, cost } = await client.stream(`${url}/told`, {}, key)
  for await (const _ of events()) break
  expect((await cost()).charged).toBe('10000')
  const again = ['--balance', '--idempotency-key', key.idempotencyKey]
  const call = ['call', `${url}/told`, '--body', '{}', '--max-price', '0.01', ...again]
  expect(await svc(call, { SVC_SANDBOX: sandbox.url, SVC_BALANCES: file })).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/; it was charged to the balance, says the seller \(call_failed\)\n$/),
  })
})

it('a full disk is said so before anything is paid, and balances are listed by any spelling of their agent', async () => {
  const seller = await open([work], { about: { balance: { amounts: ['$0.05'], period: '1h' } } })
  const { sandbox, url } = seller
  const { address, mnemonic } = sandbox.accounts('balance on a full disk')
  const before = sandbox.balance(address).usdc!
  const file = join(mkdtempSync(join(tmpdir(), 'svc-balance-')), 'balances.json')
  const env = { SVC_SANDBOX: sandbox.url, SVC_BALANCES: file, SVC_MNEMONIC: mnemonic }
  symlinkSync('/dev/full', `${file}.new`)
  expect(await svc(['balance', url, '--buy', '0.05'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/ENOSPC.*balance_file_unusable/),
  })
  expect(sandbox.balance(address).usdc).toBe(before)
  expect(await svc(['balance'], { SVC_SANDBOX: sandbox.url, HOME: '/dev/null' })).toMatchObject({ code: 0 })
  const balances = [{ key: 'svc_key', left: '1000000' }]
  writeFileSync(file, JSON.stringify({ 'testnet https://agent.example/balance': { balances } }))
  for (const spelling of ['https://agent.example/', 'HTTPS://Agent.example:443'])
    expect((await svc(['balance', spelling], env)).stdout).toMatch(/left +\$1\n/)
})

it('a purchase that its buyer ends says which payment was sent, and the next one goes on with it at once', async () => {
  const facilitator = heldFacilitator()
  const about = { balance: { amounts: ['$0.05'], period: '1h' } }
  const { sandbox, url, nextEnded } = await open([work], { about, facilitatorUrl: await facilitator.url })
  facilitator.serves(sandbox)
  const { address, mnemonic } = sandbox.accounts('balance that is broken off')
  const before = sandbox.balance(address).usdc!
  const file = join(mkdtempSync(join(tmpdir(), 'svc-balance-')), 'balances.json')
  const env = { SVC_SANDBOX: sandbox.url, SVC_BALANCES: file, SVC_MNEMONIC: mnemonic }
  const settling = facilitator.hold('/settle', {}, { landed: true })
  const child = start(['balance', url, '--buy', '0.05'], env)
  const run = ended(child)
  await settling.arrived
  child.kill('SIGINT')
  const { code, stderr } = await run
  expect([code, stderr]).toEqual([4, expect.stringMatching(/^payment [^\n]+\nsvc: [^\n]+ was aborted; /)])
  const sold = nextEnded()
  settling.answer()
  await sold
  const left = JSON.parse(readFileSync(file, 'utf8'))[`testnet ${url}/balance`]
  expect(left.buying).toMatchObject([{ untilMs: 0 }])
  expect((await svc(['balance', url, '--buy', '0.05'], env)).stdout).toMatch(/left +\$0.05\n/)
  expect(before - sandbox.balance(address).usdc!).toBe(50_000n)
})

it('a command that was killed while it wrote the file leaves no lock to the next', async () => {
  const { sandbox, url } = await open([work], { about: { balance: { amounts: ['$0.05'], period: '1h' } } })
  const { mnemonic } = sandbox.accounts('balance of a killed command')
  const folder = mkdtempSync(join(tmpdir(), 'svc-balance-'))
  const file = join(folder, 'balances.json')
  const env = { SVC_SANDBOX: sandbox.url, SVC_BALANCES: file, SVC_MNEMONIC: mnemonic }
  // Who opens it to write waits for a reader, and holds the lock.
  execFileSync('mkfifo', [`${file}.new`])
  const killed = start(['balance', url, '--buy', '0.05'], env)
  const isLocked = () => expect(readdirSync(folder)).toContain('balances.json.lock')
  await eventually(isLocked)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  unlinkSync(`${file}.new`)
  expect(await svc(['balance', url, '--buy', '0.05'], env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/left +\$0\.05/),
  })
  expect(readdirSync(folder)).toEqual(['balances.json'])
})

it('what is bought is on the disk, and not only in its cache, before it takes the place of what was there', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-balance-')), 'balances.json')
  vi.stubEnv('SVC_BALANCES', file)
  onTestFinished(() => void vi.unstubAllEnvs())
  const synced: string[] = []
  const spy = vi.spyOn(fs, 'fsyncSync').mockImplementation(fd => {
    synced.push(readlinkSync(`/proc/self/fd/${fd}`))
  })
  onTestFinished(() => spy.mockRestore())
  expect(await balanceFile(memorySpendLedger()).balances!({ before: '', after: '{}' })).toBe('{}')
  expect(synced).toEqual([`${file}.new`])
})
