/** `svc localnet` and `svc dev --localnet`, on the node of a sandbox and with a kmd that answers as kmd's documentation says. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeSignedTransaction } from 'algosdk'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { PostingNodeClient } from '../../src/adapters/algorand/ask-node.js'
import { mnemonicOf, signingKey, signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { txIdOf } from '../../src/adapters/algorand/transaction-hashes.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import { defineEndpoint, networkFrom, SvcClient } from '../../src/index.js'
import { usdcOn } from '../../src/localnet/accounts.js'
import { type LocalnetSettings, localnetSettings } from '../../src/localnet/settings.js'
import { startLocalnet } from '../../src/localnet/start-localnet.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { fakeKmd } from '../support/fake-kmd.js'
import { LOCALNET } from '../support/localnet.js'
import { open } from '../support/seller.js'
import { agentSource, projectFolder } from './project-folder.js'
import { hear, start, svc } from './run.js'

/** The sandbox's own issuer, which made its USDC. */
const SEED = createHash('sha256').update('svc-sandbox\nissuer').digest()
const ISSUER = { key: signingKeyFromSeed(SEED), words: mnemonicOf(SEED) }
const RICHER = mnemonicOf(createHash('sha256').update('richer').digest())
const NOWHERE = 'http://127.0.0.1:9'
const TOKEN = 'a'.repeat(64)

let sandbox: Sandbox
let folder: string
beforeAll(async () => {
  sandbox = await startSandbox({ network: LOCALNET })
  sandbox.fund(ISSUER.key.address, { microAlgos: 10n ** 12n, usdc: 10n ** 12n })
  sandbox.fund(signingKey(RICHER).address, { microAlgos: 10n ** 13n })
  folder = await mkdtemp(join(tmpdir(), 'svc-localnet-'))
})
afterAll(async () => {
  await sandbox.close()
  await rm(folder, { recursive: true })
})
const running: ReturnType<typeof start>[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

/** Where the sandbox is LocalNet. */
const settings = (more: Partial<LocalnetSettings>): LocalnetSettings => ({
  ...{ algod: sandbox.algodUrl, algodToken: TOKEN, kmd: NOWHERE, kmdToken: TOKEN, indexer: NOWHERE },
  mnemonic: undefined,
  ...more,
})

const starting = (more: Partial<LocalnetSettings>, out = 'localnet.json') =>
  startLocalnet({ settings: settings(more), port: 0, out: join(folder, out) })

it('takes its ALGO from kmd, finds USDC and its accounts again, and is sold and paid on', async () => {
  const kmd = await fakeKmd([RICHER, ISSUER.words])
  const first = await starting({ kmd: kmd.url })
  const { definition, file, buyer, seller, sponsor } = first
  const { facilitatorUrl } = definition
  expect(definition).toEqual({ ...LOCALNET, algodUrl: sandbox.algodUrl, algodToken: TOKEN, facilitatorUrl })
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(definition)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(sandbox.balance(buyer.address)).toEqual({ microAlgos: 10_000_000n, usdc: 100_000_000n })
  expect(sandbox.balance(seller.address)).toEqual({ microAlgos: 1_000_000n, usdc: 0n })
  expect(sandbox.balance(sponsor.address)).toEqual({ microAlgos: 100_000_000n, usdc: null })
  // The key of the account that made USDC was exported, not that of the richer one, and the wallet was closed.
  expect(kmd.asked).toEqual(
    ['wallets', 'wallet/init', 'key/list', 'key/export', 'wallet/release'].map(path => `/v1/${path}`),
  )
  await first.close()

  const moved = sandbox.transactions().length
  const again = await starting({ kmd: kmd.url })
  expect(again).toMatchObject({ buyer, seller, sponsor })
  expect(sandbox.transactions()).toHaveLength(moved)

  const network = networkFrom(file)
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
  const own = { facilitatorUrl: undefined, algodUrl: undefined } as object
  const { url } = await open([work], { sandbox, about: { network, payTo: seller.address }, ...own })
  const client = new SvcClient({ mnemonic: buyer.mnemonic, network, maxPrice: '$0.01', maxPerDay: '$1' })
  expect((await client.call(`${url}/work`)).data).toEqual({ done: true })
  expect(sandbox.balance(seller.address).usdc).toBe(10_000n)
  expect(sandbox.balance(sponsor.address).microAlgos).toBe(100_000_000n - 2_000n)
  await again.close()

  // What was spent is filled up, and the words of the same key lead to the same accounts.
  await chmod(file, 0o644)
  const third = await starting({ mnemonic: ISSUER.words, indexer: sandbox.url })
  expect(third.definition.indexerUrl).toBe(sandbox.url)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(sandbox.balance(buyer.address).usdc).toBe(100_000_000n)
  expect(sandbox.balance(sponsor.address).microAlgos).toBe(100_000_000n)
  await third.close()
})

it('prints what to paste, a line each, and the words of its funder nowhere', async () => {
  const out = join(folder, 'pasted.json')
  const child = start(
    ['localnet', '--algod', sandbox.algodUrl, '--indexer', NOWHERE, '--port', '0', '--out', out],
    {
      SVC_LOCALNET_MNEMONIC: ISSUER.words,
    },
  )
  running.push(child)
  const heard = hear(child)
  const [text] = await heard.until(/Paste this.*Ctrl-C/s)
  const [unset, network, mnemonic, payTo] = text.split('\n').filter(line => line.startsWith('  '))
  expect([unset, network]).toEqual(['  unset SVC_SANDBOX', `  export SVC_NETWORK=${out}`])
  const buyer = signingKey(/^ {2}export SVC_MNEMONIC='(.*)'$/.exec(mnemonic!)![1]!).address
  expect(sandbox.balance(buyer).usdc).toBe(100_000_000n)
  const seller = /^ {2}export SVC_PAY_TO=([A-Z2-7]{58})$/.exec(payTo!)![1]!
  expect(sandbox.balance(seller).usdc).not.toBeNull()
  child.kill('SIGTERM')
  expect(await heard.ended).toBe(0)
  expect(heard.text).not.toContain(ISSUER.words.slice(0, 20))
})

it('says in one line how to get a LocalNet where there is none', async () => {
  const { code, stderr } = await svc(['localnet', '--algod', NOWHERE])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^svc: No LocalNet at [^\n]+ algokit localnet start [^\n]+ \(node_unavailable\)\n$/)
})

it('ends at Ctrl-C while its node does not answer', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const child = start(['localnet', '--algod', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`])
  await once(silent, 'request')
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([null, 'SIGINT'])
  silent.closeAllConnections()
  silent.close()
})

it('refuses a node of a public network before it asks kmd for a key', async () => {
  const testnet = closing(await startSandbox())
  const kmd = await fakeKmd([ISSUER.words])
  for (const more of [{}, { mnemonic: ISSUER.words }]) {
    await expect(starting({ algod: testnet.algodUrl, kmd: kmd.url, ...more })).rejects.toMatchObject({
      ...{ code: 'invalid_network', message: expect.stringContaining('public network testnet-v1.0') },
    })
  }
  expect(kmd.asked).toEqual([])
  expect(testnet.transactions()).toEqual([])
})

it('refuses a kmd that it cannot use, words that are none, and a file that is not its own', async () => {
  const [other, guarded, empty] = await Promise.all([
    fakeKmd([ISSUER.words], { wallet: 'mine' }),
    fakeKmd([ISSUER.words], { token: 'another' }),
    fakeKmd([]),
  ])
  const file = join(folder, 'package.json')
  await writeFile(file, '{"name":"mine"}')
  for (const [more, code, text, out] of [
    [{ kmd: other!.url }, 'kmd_unavailable', 'it has no unencrypted-default-wallet'],
    [{ kmd: guarded!.url }, 'kmd_unavailable', 'invalid API token'],
    [{ kmd: empty!.url }, 'kmd_unavailable', 'has no account'],
    [{}, 'kmd_unavailable', 'SVC_LOCALNET_MNEMONIC'],
    [{ mnemonic: 'no words' }, 'invalid_key', ''],
    [{ mnemonic: ISSUER.words }, 'file_exists', 'does not define localnet', 'package.json'],
  ] as const) {
    const message = expect.stringContaining(text)
    await expect(starting(more, out ?? 'new.json')).rejects.toMatchObject({ code, message })
  }
  expect(await readFile(file, 'utf8')).toBe('{"name":"mine"}')
  await expect(stat(join(folder, 'new.json'))).rejects.toThrow('ENOENT')
  expect(() => localnetSettings({ kmd: 'localhost' })).toThrow(
    expect.objectContaining({ code: 'invalid_url' }),
  )
})

it('makes USDC where its funder has made none, and takes the oldest', async () => {
  const asset = (index: number, unit: string, decimals = 6) => ({
    ...{ index, params: { 'unit-name': unit, decimals } },
  })
  const sent: Uint8Array[] = []
  const node: PostingNodeClient = {
    async get(path) {
      if (path === '/v2/transactions/params')
        return {
          ...{ 'last-round': 0, 'min-fee': 1_000 },
          ...{ 'genesis-hash': LOCALNET.genesisHash, 'genesis-id': LOCALNET.genesisId },
        }
      const others = [asset(1001, 'EURC'), asset(1002, 'USDC', 2)]
      const made = sent.length > 0 ? [asset(1009, 'USDC'), asset(1004, 'USDC')] : []
      return { 'created-assets': [...others, ...made] }
    },
    find: async () => undefined,
    async ask(path, { body } = {}) {
      if (body) sent.push(body)
      const { txn } = decodeSignedTransaction(sent[0]!)
      return { status: 200, body: { txId: txIdOf(txn), 'confirmed-round': 1, txn: {}, path } }
    },
    close: async () => {},
  }
  expect(await usdcOn(networkFacts(LOCALNET), node, ISSUER.key)).toBe(1004)
  expect(await usdcOn(networkFacts(LOCALNET), node, ISSUER.key)).toBe(1004)
  expect(sent).toHaveLength(1)
  const { txn } = decodeSignedTransaction(sent[0]!)
  expect(txn.assetConfig).toMatchObject({ decimals: 6, unitName: 'USDC', defaultFrozen: false })
  // Round 0 is where a new network stands, and where nothing can be valid.
  expect([txn.firstValid, txn.fee, txn.genesisID]).toEqual([1n, 1_000n, LOCALNET.genesisId])
})

it('svc dev --localnet: the agent is paid there, whatever sandbox the environment names', async () => {
  const project = closing({
    ...projectFolder({ 'agent.mjs': fromFile(agentSource('local')) }),
    close: () => {},
  })
  const payTo = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
  const child = start(
    ['dev', '--localnet', '--json'],
    {
      ...{ PORT: '0', SVC_SANDBOX: NOWHERE, SVC_PAY_TO: payTo, SVC_LOCALNET_MNEMONIC: ISSUER.words },
      ...{ SVC_LOCALNET_ALGOD: sandbox.algodUrl, SVC_LOCALNET_INDEXER: NOWHERE },
    },
    { cwd: project.path },
  )
  running.push(child)
  const heard = hear(child)
  const [line] = await heard.until(/^\{.*\}$/m)
  const { call, localnet, wallet, manifest } = JSON.parse(line)
  expect(heard.text).toContain(`${payTo} is not opted in`)
  expect(manifest.payTo).not.toBe(payTo)
  const before = sandbox.balance(manifest.payTo).usdc!
  const client = new SvcClient({
    mnemonic: wallet.mnemonic,
    network: networkFrom(localnet),
    maxPrice: call.price,
  })
  expect((await client.call(call.url, JSON.parse(call.body))).data).toEqual({ word: 'local' })
  expect(sandbox.balance(manifest.payTo).usdc).toBe(before + 10_000n)
  child.kill('SIGINT')
  expect(await heard.ended).toBe(0)
  project.remove()
})

/** As the templates do: the network is a name or a file. */
function fromFile(source: string): string {
  return source
    .replace('import { ', 'import { networkFrom, ')
    .replace('SVC_NETWORK: network }', 'SVC_NETWORK: named }')
    .replace('payTo, network, endpoints', 'payTo, network: networkFrom(named), endpoints')
}
