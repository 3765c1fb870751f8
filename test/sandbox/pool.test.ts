/** A sandbox whose payments land with the round, as on a network. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { TESTNET } from '../../src/domain/network.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { answerOf } from '../support/answers.js'
import { payerOf } from '../support/sandbox-payment.js'

/** Rounds that pass only where a test makes them. */
const STILL_MS = 86_400_000

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await startSandbox({ landing: 'with-the-round', roundMs: STILL_MS })
})
afterEach(() => sandbox.close())

async function payment() {
  const algod = algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 })
  const signer = algorandPaymentSigner({
    key: signingKey(sandbox.wallet.mnemonic),
    network: TESTNET,
    algod,
  })
  const paid = await payerOf(sandbox, signer)()
  await algod.close()
  return paid
}

async function post(path: string, body: unknown) {
  return answerOf(fetch(sandbox.url + path, { method: 'POST', body: JSON.stringify(body) }))
}

async function pool(): Promise<readonly unknown[]> {
  const response = await fetch(`${sandbox.url}/v2/transactions/pending`)
  const waiting = (await response.json()) as Record<string, unknown[]>
  return waiting['top-transactions']!
}

const told = async (txId: string) => answerOf(fetch(`${sandbox.url}/v2/transactions/pending/${txId}`))

describe('a payment that was taken', () => {
  it('is pending, moves nothing before its round, and is settled then', async () => {
    const { body, txId } = await payment()
    const settling = post('/settle', body)
    await expect.poll(pool).toHaveLength(2)
    expect(await told(txId)).toMatchObject({ 'pool-error': '', txn: {} })
    expect(await told(txId)).not.toHaveProperty('confirmed-round')
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(0n)
    expect(sandbox.transactions()).toEqual([])
    // The node's simulation does not see its pool: a second server says yes to the same payment.
    expect(await post('/verify', body)).toMatchObject({ isValid: true })
    expect(await post('/settle', body)).toMatchObject({
      success: false,
      errorMessage: expect.stringContaining('transaction already in ledger: '),
    })

    const before = sandbox.round()
    sandbox.advanceRounds(1)
    expect(await settling).toMatchObject({ success: true, transaction: txId })
    expect(await told(txId)).toMatchObject({ 'confirmed-round': Number(before) + 1 })
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(10_000n)
    expect(await pool()).toEqual([])
    const { blockTxids } = await answerOf(fetch(`${sandbox.url}/v2/blocks/${before + 1n}/txids`))
    expect(blockTxids).toContain(txId)
  })

  it('is dropped where its account was frozen before the round, and the settlement says why', async () => {
    const { body, txId } = await payment()
    const settling = post('/settle', body)
    await expect.poll(pool).toHaveLength(2)
    sandbox.freeze(sandbox.wallet.address, true)
    sandbox.advanceRounds(1)
    expect(await settling).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_avm_settlement_failed',
      errorMessage: expect.stringContaining('frozen in'),
    })
    expect(await told(txId)).toMatchObject({ 'pool-error': expect.stringContaining('frozen in') })
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(0n)
  })

  it('is forgotten after 1000 rounds, and so is its block', async () => {
    const { body, txId } = await payment()
    const settling = post('/settle', body)
    await expect.poll(pool).toHaveLength(2)
    sandbox.advanceRounds(1)
    await settling
    const landed = sandbox.round()
    const statuses = async () => {
      const paths = [`/v2/transactions/pending/${txId}`, `/v2/blocks/${landed}`, `/v2/blocks/${landed}/txids`]
      return Promise.all(paths.map(async path => (await fetch(sandbox.url + path)).status))
    }
    sandbox.advanceRounds(1_000)
    expect(await statuses()).toEqual([200, 200, 200])
    sandbox.advanceRounds(1)
    expect(await statuses()).toEqual([404, 404, 404])
  })

  it('does not keep a sandbox from closing', async () => {
    const { body } = await payment()
    const settling = post('/settle', body).catch(() => 'cut')
    await expect.poll(pool).toHaveLength(2)
    await sandbox.close()
    expect(await settling).toBe('cut')
  })
})
