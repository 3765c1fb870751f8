/** `svc facilitator`: in a process of its own, with a key that is seen nowhere. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, type SandboxAccount, startSandbox } from '../../src/sandbox.js'
import { open, pay } from '../support/seller.js'
import { ended, firstLine, hear, start, svc } from './run.js'

let sandbox: Sandbox
let sponsor: SandboxAccount
let folder: string
beforeAll(async () => {
  sandbox = await startSandbox()
  sponsor = sandbox.accounts('own sponsor')
  folder = await mkdtemp(join(tmpdir(), 'svc-facilitator-'))
})
afterAll(async () => {
  await sandbox.close()
  await rm(folder, { recursive: true })
})

const args = (...more: string[]) => [
  ...['facilitator', '--network', 'testnet', '--algod', sandbox.algodUrl, '--port', '0', '--json'],
  ...['--pay-to', sandbox.seller.address, ...more],
]

it.each(['environment', 'file'])(
  'with its words in the %s: settles for a server, and ends on SIGTERM',
  async where => {
    const path = join(folder, 'sponsor.txt')
    await writeFile(path, `${sponsor.mnemonic}\n`, { mode: 0o600 })
    const child =
      where === 'file'
        ? start(args('--sponsor-file', path))
        : start(args(), { SVC_SPONSOR_MNEMONIC: sponsor.mnemonic })
    onTestFinished(() => void child.kill('SIGKILL'))
    const heard = hear(child)
    const line = await firstLine(child)
    const { url, ...said } = JSON.parse(line)
    expect(said).toEqual({ network: 'testnet', sponsor: sponsor.address, payTo: [sandbox.seller.address] })
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({}) })
    const seller = await open([work], { sandbox, facilitatorUrl: url })
    const before = sandbox.balance(sponsor.address).microAlgos
    expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
    expect(before - sandbox.balance(sponsor.address).microAlgos).toBe(2_000n)
    await seller.close()
    child.kill('SIGTERM')
    expect(await heard.ended).toBe(0)
    for (const word of sponsor.mnemonic.split(' ').filter(word => word.length > 6))
      expect(heard.text).not.toContain(word)
  },
)

it('with a token in the environment: its servers are not limited, strangers are, and the token is seen nowhere', async () => {
  const token = 'a-token-of-our-servers'
  const env = { SVC_SPONSOR_MNEMONIC: sponsor.mnemonic, SVC_FACILITATOR_TOKEN: token }
  const child = start(args('--per-minute', '1'), env)
  onTestFinished(() => void child.kill('SIGKILL'))
  const heard = hear(child)
  const { url } = JSON.parse(await firstLine(child))
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({}) })
  const [own, stranger] = [
    await open([work], { sandbox, facilitatorUrl: { url, token } }),
    await open([work], { sandbox, facilitatorUrl: url }),
  ]
  const statusesOf = async (seller: typeof own) => {
    const statuses = []
    for (let time = 0; time < 3; time++)
      statuses.push((await pay(seller, `${seller.url}/work`, { body: {} })).status)
    return statuses
  }
  expect(await statusesOf(own)).toEqual([200, 200, 200])
  expect(await statusesOf(stranger)).toEqual([200, 503, 503])
  child.kill('SIGTERM')
  expect(await heard.ended).toBe(0)
  expect(heard.text).not.toContain(token)
  const weak = await svc(args(), { ...env, SVC_FACILITATOR_TOKEN: 'short' })
  expect([weak.code, weak.stderr]).toEqual([2, expect.stringContaining('16 visible ASCII characters')])
})

it.each([0o640, 0o604, 0o620])('refuses a file of mode %o, which others can use', async mode => {
  const path = join(folder, `sponsor-${mode}.txt`)
  await writeFile(path, sponsor.mnemonic)
  await chmod(path, mode)
  const { code, stderr } = await svc(args('--sponsor-file', path))
  expect(code).toBe(2)
  expect(stderr).toContain('chmod 600')
  expect(stderr).not.toContain(sponsor.mnemonic.split(' ')[0]!)
})

it('refuses a folder, a missing file, no key, wrong words and no payTo', async () => {
  const none = join(folder, 'none.txt')
  for (const [more, env, text] of [
    [['--sponsor-file', folder], {}, 'sponsor_file_unusable'],
    [['--sponsor-file', none], {}, 'sponsor_file_unusable'],
    [[], {}, 'no_signer'],
    [[], { SVC_SPONSOR_MNEMONIC: 'secret words' }, 'invalid_key'],
    [['--fee-per-day-max', '0'], { SVC_SPONSOR_MNEMONIC: sponsor.mnemonic }, 'invalid_options'],
  ] as const) {
    const { code, stderr } = await svc(args(...more), env)
    expect(code).toBe(2)
    expect(stderr).toContain(text)
    expect(stderr).not.toContain('secret')
  }
  const child = start(['facilitator'], { SVC_SPONSOR_MNEMONIC: sponsor.mnemonic })
  expect((await ended(child)).stderr).toContain('--pay-to')
})
