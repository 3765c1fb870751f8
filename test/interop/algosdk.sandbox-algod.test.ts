/** Algosdk's client against the sandbox's node: what a wallet or a script would do. */
import {
  Algodv2,
  assignGroupID,
  decodeSignedTransaction,
  encodeMsgpack,
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  makePaymentTxnWithSuggestedParamsFromObject,
  mnemonicToSecretKey,
  modelsv2,
  waitForConfirmation,
} from 'algosdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { answerOf } from '../support/answers.js'

const USDC = 10_458_941

let sandbox: Sandbox
let algod: Algodv2
beforeAll(async () => {
  sandbox = await startSandbox({ roundMs: 50 })
  algod = new Algodv2('token', sandbox.algodUrl)
})
afterAll(() => sandbox.close())

describe('algosdk on the sandbox', () => {
  it('opts in, pays, and reads it all back', async () => {
    const alice = mnemonicToSecretKey(sandbox.accounts('alice').mnemonic)
    const bob = mnemonicToSecretKey(sandbox.seller.mnemonic)
    const suggestedParams = await algod.getTransactionParams().do()
    const send = { sender: alice.addr, suggestedParams }
    const algos = makePaymentTxnWithSuggestedParamsFromObject({ ...send, receiver: bob.addr, amount: 5_000 })
    const usdc = makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...send,
      receiver: bob.addr,
      amount: 70_000,
      assetIndex: USDC,
    })
    const signed = assignGroupID([algos, usdc]).map(txn => txn.signTxn(alice.sk))
    const simulated = await algod
      .simulateTransactions(
        new modelsv2.SimulateRequest({
          txnGroups: [
            new modelsv2.SimulateRequestTransactionGroup({ txns: signed.map(decodeSignedTransaction) }),
          ],
        }),
      )
      .do()
    expect(simulated.txnGroups[0]!.failureMessage).toBeUndefined()
    const { txid } = await algod.sendRawTransaction(signed).do()
    const pending = await waitForConfirmation(algod, txid, 4)
    expect(pending.confirmedRound).toBeGreaterThan(suggestedParams.firstValid)
    expect(pending.txn.txn.txID()).toBe(txid)

    const holding = await algod.accountAssetInformation(bob.addr, USDC).do()
    expect(holding.assetHolding!.amount).toBe(70_000n)
    const account = await algod.accountInformation(alice.addr).do()
    expect([account.amount, account.minBalance]).toEqual([10_000_000n - 5_000n - 2_000n, 200_000n])
    await algod.statusAfterBlock(pending.confirmedRound!).do()
    const block = await answerOf(fetch(`${sandbox.url}/v2/blocks/${pending.confirmedRound}/txids`))
    expect(block.blockTxids).toContain(txid)
    const asJson = await answerOf(fetch(`${sandbox.url}/v2/transactions/pending/${txid}`))
    expect(asJson).toMatchObject({ 'confirmed-round': Number(pending.confirmedRound) })
  })

  it('answers in JSON where no format is named, whatever is accepted, and in no format that a node has not', async () => {
    const alice = mnemonicToSecretKey(sandbox.accounts('alice').mnemonic)
    const suggestedParams = await algod.getTransactionParams().do()
    const txn = makePaymentTxnWithSuggestedParamsFromObject({
      ...{ sender: alice.addr, receiver: alice.addr, amount: 1, suggestedParams },
    })
    const txns = [decodeSignedTransaction(txn.signTxn(alice.sk))]
    const body = encodeMsgpack(
      new modelsv2.SimulateRequest({
        txnGroups: [new modelsv2.SimulateRequestTransactionGroup({ txns })],
      }),
    )
    const simulated = (format: string) =>
      fetch(`${sandbox.algodUrl}/v2/transactions/simulate${format}`, {
        ...{ method: 'POST', headers: { accept: 'application/msgpack' }, body: Buffer.from(body) },
      })
    expect(await answerOf(simulated(''))).toMatchObject({
      'last-round': expect.any(Number),
      'txn-groups': [{ 'txn-results': [{ 'txn-result': { txn: { txn: { amt: 1, type: 'pay' } } } }] }],
    })
    const types = ['?format=msgpack', '?format=msgp', '?format=json'].map(async format =>
      (await simulated(format)).headers.get('content-type'),
    )
    expect(await Promise.all(types)).toEqual([
      'application/msgpack',
      'application/msgpack',
      'application/json',
    ])
    const other = await simulated('?format=xml')
    expect([other.status, await other.json()]).toMatchObject([
      400,
      { message: 'failed to parse the format option' },
    ])
  })

  it('is told no in a node’s words', async () => {
    const alice = mnemonicToSecretKey(sandbox.accounts('alice').mnemonic)
    const suggestedParams = await algod.getTransactionParams().do()
    const payment = { sender: alice.addr, receiver: alice.addr, amount: 0, suggestedParams }
    const send = (bytes: Uint8Array | Uint8Array[]) => algod.sendRawTransaction(bytes).do()

    const dead = { ...suggestedParams, firstValid: 1n, lastValid: 10n }
    const late = makePaymentTxnWithSuggestedParamsFromObject({ ...payment, suggestedParams: dead })
    await expect(send(late.signTxn(alice.sk))).rejects.toThrow(
      /TransactionPool.Remember: txn dead: round \d+ outside of 1--10/,
    )
    const rich = makePaymentTxnWithSuggestedParamsFromObject({ ...payment, amount: 10n ** 15n })
    await expect(send(rich.signTxn(alice.sk))).rejects.toThrow(
      /overspend \(account \w{58}, data \{.*\}, tried to spend 1000000000A\)/,
    )
    const bob = mnemonicToSecretKey(sandbox.seller.mnemonic)
    const [good] = [makePaymentTxnWithSuggestedParamsFromObject(payment)]
    await expect(send(good!.signTxn(bob.sk))).rejects.toThrow(/should have been authorized by/)
    const bytes = good!.signTxn(alice.sk)
    bytes[20]! ^= 1
    await expect(send(bytes)).rejects.toThrow(/At least one signature didn't pass verification/)
    await expect(send(Array.from({ length: 17 }, () => good!.signTxn(alice.sk)))).rejects.toThrow(
      /max group size is 16/,
    )
    await expect(send(Uint8Array.of(0xc1))).rejects.toThrow(/msgpack decode error/)
    await expect(algod.pendingTransactionInformation('A'.repeat(52)).do()).rejects.toThrow(
      /could not find the transaction in the transaction pool/,
    )
    await expect(algod.accountAssetInformation(sandbox.feePayer, USDC).do()).rejects.toThrow(
      /account asset info not found/,
    )
  })
})
