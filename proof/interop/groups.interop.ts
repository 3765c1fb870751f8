/** A wallet's group, built with algosdk, pays our server over x402-avm's facilitator. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { ask, openSeller, receiptIn, type Seller } from '../../test/support/seller.js'
import { bound, presented, quoteAt, sponsorship, wallet } from '../../test/support/wallet.js'
import { startPeer } from './python-peer.js'

let sandbox: Sandbox
let seller: Seller
let facilitator: { readonly url: string; readonly sponsor: string; close(): Promise<void> }
beforeAll(async () => {
  sandbox = await startSandbox()
  const { mnemonic } = sandbox.accounts('python sponsor')
  const task = { mnemonic, algodUrl: sandbox.algodUrl }
  facilitator = await startPeer<{ url: string; sponsor: string }>('current', 'facilitator.py', task)
  const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: () => ({ ran: true }) })
  seller = await openSeller([echo], { sandbox, facilitatorUrl: facilitator.url })
})
afterAll(async () => {
  await seller.close()
  await facilitator.close()
  await sandbox.close()
})

it('opts in, swaps, calls an application and pays, sponsored', async () => {
  const pool = wallet(sandbox, sandbox.accounts('pool').mnemonic)
  const newcomer = wallet(sandbox)
  sandbox.fund(newcomer.address, { microAlgos: 500_000n })
  const paid = newcomer.send(sandbox.seller.address, 10_000)
  const steps = bound([
    newcomer.optIn(),
    newcomer.sendAlgo(pool.address, 200_000),
    newcomer.call(),
    pool.send(newcomer.address, 30_000),
    paid,
    sponsorship(sandbox, facilitator.sponsor, 6_000),
  ])
  const headers = presented(steps, steps.indexOf(paid), await quoteAt(seller, '/echo'))
  const response = await ask(`${seller.url}/echo`, { body: {}, headers })
  // The facilitator names the group's first transaction; the receipt names the payment.
  expect([response.status, receiptIn(response).transaction]).toEqual([200, paid.txn.txID()])
  expect(sandbox.balance(newcomer.address)).toEqual({ microAlgos: 300_000n, usdc: 20_000n })
  expect(sandbox.balance(sandbox.seller.address).usdc).toBe(10_000n)
  expect(seller.ended.at(-1)?.mismatch).toBeUndefined()
})
