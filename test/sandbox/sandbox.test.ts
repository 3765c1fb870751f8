import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { ALGORAND_TESTNET, TESTNET } from '../../src/domain/network.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { answerOf } from '../support/answers.js'
import { payerOf } from '../support/sandbox-payment.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

describe('a sandbox', () => {
  it('has a payer, a seller and a sponsor, the same ones for the same seed', async () => {
    expect(sandbox.balance(sandbox.wallet.address)).toEqual({ microAlgos: 10_000_000n, usdc: 100_000_000n })
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(0n)
    expect(signingKey(sandbox.wallet.mnemonic).address).toBe(sandbox.wallet.address)
    const other = await startSandbox()
    expect(other.wallet).toEqual(sandbox.wallet)
    expect(other.url).not.toBe(sandbox.url)
    await other.close()
    const seeded = await startSandbox({ seed: 'another' })
    expect(seeded.wallet.address).not.toBe(sandbox.wallet.address)
    await seeded.close()
  })

  it('gives an account by any name, funded once', () => {
    const account = sandbox.accounts('alice')
    sandbox.fund(account.address, { usdc: 1n })
    expect(sandbox.accounts('alice')).toEqual(account)
    expect(sandbox.balance(account.address).usdc).toBe(100_000_001n)
  })

  it('listens on the loopback interface only', () => {
    expect(new URL(sandbox.url).hostname).toBe('127.0.0.1')
  })

  it('supports both forms of the network’s id', async () => {
    const { kinds } = await answerOf(fetch(`${sandbox.facilitatorUrl}/supported`))
    const extra = { feePayer: sandbox.feePayer }
    expect(kinds).toEqual([
      { x402Version: 2, scheme: 'exact', network: ALGORAND_TESTNET, extra },
      { x402Version: 2, scheme: 'exact', network: `algorand:${TESTNET.genesisHash}`, extra },
    ])
  })
})

describe('a payment', () => {
  it('moves the money once, at no cost in ALGO to the payer', async () => {
    const payer = sandbox.accounts('payer of one')
    const before = sandbox.balance(sandbox.seller.address).usdc!
    const { body, txId } = await paymentFrom(payer.mnemonic)
    expect(await post('/verify', body)).toEqual({ isValid: true, payer: payer.address })
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('/settle', body)))
    const settled = answers.filter(({ success }) => success)
    expect(settled).toEqual([
      { success: true, transaction: txId, network: ALGORAND_TESTNET, payer: payer.address },
    ])
    for (const { success, errorReason, errorMessage, transaction } of answers) {
      if (success) continue
      expect(errorReason).toBe('invalid_exact_avm_simulation_failed')
      expect(errorMessage).toContain('transaction already in ledger: ')
      expect(transaction).toBe('')
    }
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(before + 10_000n)
    expect(sandbox.balance(payer.address)).toEqual({ microAlgos: 10_000_000n, usdc: 99_990_000n })
    expect(sandbox.transactions().find(landed => landed.txId === txId)).toMatchObject({
      sender: payer.address,
      receiver: sandbox.seller.address,
      amount: 10_000n,
      asset: 10_458_941n,
    })
  })

  it('without a sponsor costs its payer the fee', async () => {
    const payer = sandbox.accounts('payer of fees')
    const { body } = await paymentFrom(payer.mnemonic, { extra: {} })
    expect(await post('/settle', body)).toMatchObject({ success: true })
    expect(sandbox.balance(payer.address).microAlgos).toBe(9_999_000n)
  })

  it('from a frozen account, to a frozen one or to one not opted in is refused in the ledger’s words', async () => {
    const payer = sandbox.accounts('frozen')
    const receiver = sandbox.accounts('cold')
    sandbox.freeze(payer.address, true)
    const refusedWith = async (changes = {}) => {
      const { body } = await paymentFrom(payer.mnemonic, changes)
      return (await post('/verify', body)).invalidMessage
    }
    expect(await refusedWith()).toContain(`asset 10458941 frozen in ${payer.address}`)
    sandbox.freeze(payer.address, false)
    sandbox.freeze(receiver.address, true)
    expect(await refusedWith({ payTo: receiver.address })).toContain('asset frozen in recipient')
    expect(await refusedWith({ payTo: sandbox.feePayer })).toContain(
      `receiver error: must optin, asset 10458941 missing from ${sandbox.feePayer}`,
    )
  })

  it('dies when its rounds have passed', async () => {
    const { body } = await paymentFrom(sandbox.wallet.mnemonic)
    sandbox.advanceRounds(30)
    const { invalidMessage } = await post('/verify', body)
    expect(invalidMessage).toMatch(/^txn dead: round \d+ outside of \d+--\d+$/)
  })
})

describe('the Bazaar', () => {
  it('lists what was paid for, by type and in pages', async () => {
    const describe = (type: string) => ({ bazaar: { info: { input: { type, method: 'POST' } }, schema: {} } })
    for (const [path, type] of [
      ['/a', 'http'],
      ['/b', 'http'],
      ['/tool', 'mcp'],
    ] as const) {
      const resource = {
        url: `https://agent.example${path}?q=1#f`,
        description: 'Short',
        mimeType: 'text/plain',
      }
      const { body } = await paymentFrom(
        sandbox.wallet.mnemonic,
        {},
        { resource, extensions: describe(type) },
      )
      const answer = await fetch(`${sandbox.url}/verify`, { method: 'POST', body: JSON.stringify(body) })
      expect(Buffer.from(answer.headers.get('extension-responses')!, 'base64').toString()).toContain(
        'success',
      )
    }
    const list = async (query: string) => answerOf(fetch(`${sandbox.url}/discovery/resources${query}`))
    const all = await list('')
    expect(all).toMatchObject({ x402Version: 2, pagination: { limit: 20, offset: 0, total: 3 } })
    expect((await list('?type=mcp')).items).toMatchObject([
      { resource: 'https://agent.example/tool', type: 'mcp' },
    ])
    const page = await list('?type=http&limit=1&offset=1')
    expect(page.items).toHaveLength(1)
    expect(page.items[0]).toMatchObject({
      type: 'http',
      x402Version: 2,
      description: 'Short',
      accepts: [{ scheme: 'exact', payTo: sandbox.seller.address }],
      extensions: describe('http'),
      lastUpdated: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    })
    expect((await list('?limit=0')).error.code).toBe('invalid_query')
  })
})

describe('the control routes', () => {
  it('fund, show and advance', async () => {
    const { address } = sandbox.accounts('by http')
    expect(await post('/sandbox/fund', { address, usdc: 5, microAlgos: '7' })).toEqual({
      address,
      microAlgos: '10000007',
      usdc: '100000005',
    })
    expect(await answerOf(fetch(`${sandbox.url}/sandbox/accounts/${address}`))).toMatchObject({
      usdc: '100000005',
    })
    const before = sandbox.round()
    await post('/sandbox/rounds', { advance: 3 })
    expect(sandbox.round() - before).toBeGreaterThanOrEqual(3n)
  })

  it.each([
    ['POST', '/sandbox/fund', '{"address":"nobody"}', 400, 'invalid_address'],
    ['POST', '/sandbox/fund', 'not json', 400, 'invalid_json'],
    ['POST', '/sandbox/fund', '[]', 400, 'invalid_request'],
    ['POST', '/sandbox/rounds', '{"advance":-1}', 400, 'invalid_rounds'],
    ['POST', '/sandbox/rounds', '{"advance":1e99}', 400, 'invalid_rounds'],
    ['PUT', '/sandbox/faults', '{"stage":"verify","behaviour":"late"}', 400, 'invalid_fault'],
    ['PUT', '/sandbox/faults', '{"stage":"__proto__","behaviour":"hang"}', 400, 'invalid_fault'],
    ['PUT', '/sandbox/faults', '{"stage":"settle","behaviour":"hang","times":0}', 400, 'invalid_fault'],
    ['DELETE', '/sandbox/faults?stage=x', '', 400, 'invalid_fault'],
    ['GET', '/sandbox/accounts/%zz', undefined, 400, 'invalid_path'],
    ['GET', '/nowhere', undefined, 404, 'not_found'],
    ['DELETE', '/verify', '', 405, 'method_not_allowed'],
    ['POST', '/verify', '{', 400, 'invalid_json'],
    ['POST', '/settle', '{"paymentPayload":[]}', 400, 'invalid_request'],
    ['POST', '/verify', ' '.repeat(1024 * 1024 + 1), 413, 'body_too_large'],
  ])('%s %s with %.40s is answered %d %s', async (method, path, body, status, code) => {
    const answer = await fetch(sandbox.url + path, { method, body })
    expect(answer.status).toBe(status)
    expect((await answerOf(answer)).error.code).toBe(code)
  })
})

async function paymentFrom(mnemonic: string, changes = {}, challenge = {}) {
  const algod = algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 })
  const signer = algorandPaymentSigner({ key: signingKey(mnemonic), network: TESTNET, algod })
  const paid = await payerOf(sandbox, signer)(changes, challenge)
  await algod.close()
  return paid
}

async function post(path: string, body: unknown) {
  return answerOf(fetch(sandbox.url + path, { method: 'POST', body: JSON.stringify(body) }))
}
