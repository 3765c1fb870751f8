/** A wallet that builds its groups with algosdk pays our server; the official facilitator judges and settles them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import {
  NOTHING,
  type OfficialFacilitator,
  officialFacilitator,
  quoteIn,
  receiptIn,
  watchLedger,
} from '../support/official.js'
import { ask, challengeIn, openSeller, type Seller } from '../support/seller.js'
import { bound, presented, quoteAt, type Step, sponsorship, wallet } from '../support/wallet.js'

describe('a wallet’s group, our server, the official facilitator', () => {
  let sandbox: Sandbox
  let facilitator: OfficialFacilitator
  let seller: Seller
  let runs = 0
  beforeAll(async () => {
    sandbox = await startSandbox()
    facilitator = await officialFacilitator(sandbox)
    const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: () => ({ run: ++runs }) })
    seller = await openSeller([echo], { sandbox, facilitatorUrl: facilitator.url })
  })
  afterAll(async () => {
    await seller.close()
    await facilitator.close()
    await sandbox.close()
  })

  const send = async (steps: readonly Step[], paid: Step) => {
    const payment = presented(bound(steps), steps.indexOf(paid), await quoteAt(seller, '/echo'))
    return ask(`${seller.url}/echo`, { body: {}, headers: payment })
  }

  it('opts in, swaps, calls an application and pays, sponsored', async () => {
    const pool = wallet(sandbox, sandbox.accounts('pool').mnemonic)
    const newcomer = wallet(sandbox)
    sandbox.fund(newcomer.address, { microAlgos: 500_000n })
    const paid = newcomer.send(sandbox.seller.address, 10_000)
    const before = sandbox.balance(sandbox.seller.address).usdc!
    const response = await send(
      [
        sponsorship(sandbox, facilitator.sponsor, 6_000),
        newcomer.optIn(),
        newcomer.sendAlgo(pool.address, 200_000),
        newcomer.call(),
        pool.send(newcomer.address, 30_000),
        paid,
      ],
      paid,
    )
    expect(response.status).toBe(200)
    expect(receiptIn(response)).toMatchObject({ transaction: paid.txn.txID(), payer: newcomer.address })
    expect(sandbox.balance(sandbox.seller.address).usdc! - before).toBe(10_000n)
    expect(sandbox.balance(newcomer.address)).toEqual({ microAlgos: 300_000n, usdc: 20_000n })
  })

  it('has sixteen transactions, and pays with the ninth', async () => {
    const payer = wallet(sandbox, sandbox.accounts('sixteen').mnemonic)
    const moved = watchLedger(sandbox, payer.address)
    const paid = payer.send(sandbox.seller.address, 10_000, { feeMicroAlgos: 1_000 })
    const steps = Array.from({ length: 15 }, (_, number) =>
      payer.sendAlgo(payer.address, number, { feeMicroAlgos: 1_000 }),
    )
    steps.splice(8, 0, paid)
    const response = await send(steps, paid)
    expect([response.status, receiptIn(response).transaction]).toEqual([200, paid.txn.txID()])
    expect(moved()).toMatchObject({ paid: 10_000n, received: 10_000n, txIds: [paid.txn.txID()] })
    expect(moved().landed).toHaveLength(16)
  })

  it('pays twice: the official facilitator would take it, and is not asked', async () => {
    const payer = wallet(sandbox, sandbox.accounts('twice').mnemonic)
    const moved = watchLedger(sandbox, payer.address)
    const [first, second] = ['first', 'second'].map(note =>
      payer.send(sandbox.seller.address, 10_000, { note, feeMicroAlgos: 1_000 }),
    ) as [Step, Step]
    const before = { runs, asked: facilitator.asked.length }
    const response = await send([first, second], second)
    expect([response.status, challengeIn(response).error]).toEqual([
      402,
      expect.stringMatching(/second trans/),
    ])
    expect([runs, facilitator.asked.length, moved()]).toEqual([before.runs, before.asked, NOTHING])
  })

  it('cannot land: told the official reason, nothing run', async () => {
    const payer = wallet(sandbox, sandbox.accounts('short').mnemonic)
    const moved = watchLedger(sandbox, payer.address)
    const paid = payer.send(sandbox.seller.address, 10_000, { feeMicroAlgos: 2_000 })
    const before = runs
    const response = await send([payer.sendAlgo(payer.address, 20_000_000), paid], paid)
    expect(response.status).toBe(402)
    expect(quoteIn(response).error).toMatch(/^invalid_exact_avm_simulation_failed: .*overspend/)
    expect([runs, moved()]).toEqual([before, NOTHING])
  })
})
