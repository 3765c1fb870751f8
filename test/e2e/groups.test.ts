/** Groups of other wallets over real HTTP: what lands with the payment, what is refused, and what is found again afterwards. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indexedTransfers } from '../../src/audit/reconciliation/incoming-transfers.js'
import { reconcileJournal } from '../../src/audit/reconciliation/reconciliation-report.js'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { fakeFacilitator } from '../support/fake-facilitator.js'
import { readJournals } from '../support/journals.js'
import { ask, open, type PaymentHeader, receiptIn } from '../support/seller.js'
import {
  bound,
  presented,
  quoteAt,
  type Step,
  sponsorship,
  type Wallet,
  wallet,
  windowOf,
} from '../support/wallet.js'

const PRICE = 10_000

async function selling(options: Partial<ServeOptions> = {}) {
  const seen = { runs: 0 }
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++seen.runs }) })
  const broken = defineEndpoint({
    name: 'broken',
    price: '$0.01',
    handler() {
      throw new Error('no model today')
    },
  })
  const seller = await open([work, broken], options)
  const { sandbox } = seller
  const challenge = await quoteAt(seller, '/work')
  const payer = wallet(sandbox, sandbox.wallet.mnemonic)
  const other = wallet(sandbox, sandbox.accounts('another wallet').mnemonic)
  const payTo = sandbox.seller.address
  const payment = (by: Wallet = payer, rounds = 100) =>
    by.send(payTo, PRICE, { window: windowOf(sandbox, rounds), note: 'the payment' })
  const send = (headers: PaymentHeader, path = '/work') => ask(seller.url + path, { body: {}, headers })
  const inGroup = (steps: readonly Step[], paid: Step) =>
    presented(bound(steps), steps.indexOf(paid), challenge)
  const usdcOf = (address: string) => sandbox.balance(address).usdc
  return { seller, sandbox, seen, challenge, payer, other, payTo, payment, send, inGroup, usdcOf }
}

describe('a payment inside a larger group', () => {
  it('of a wallet without USDC, which opts in, swaps and pays at once', async () => {
    const { sandbox, seller, other, payTo, payment, send, inGroup, usdcOf } = await selling()
    const newcomer = wallet(sandbox)
    sandbox.fund(newcomer.address, { microAlgos: 500_000n })
    const before = { other: usdcOf(other.address)!, sponsor: sandbox.balance(sandbox.feePayer).microAlgos }
    const paid = payment(newcomer)
    const steps = [
      newcomer.optIn(),
      newcomer.sendAlgo(other.address, 200_000),
      newcomer.call(),
      other.send(newcomer.address, 30_000),
      paid,
      sponsorship(sandbox, sandbox.feePayer, 6_000),
    ]
    const response = await send(inGroup(steps, paid))
    expect([response.status, await response.json()]).toEqual([200, { run: 1 }])
    const txId = paid.txn.txID()
    expect(receiptIn(response)).toMatchObject({ success: true, transaction: txId, payer: newcomer.address })
    expect(sandbox.balance(newcomer.address)).toEqual({ microAlgos: 300_000n, usdc: 20_000n })
    expect([usdcOf(payTo), usdcOf(other.address)]).toEqual([10_000n, before.other - 30_000n])
    expect(before.sponsor - sandbox.balance(sandbox.feePayer).microAlgos).toBe(6_000n)
    expect(
      sandbox
        .transactions()
        .slice(-6)
        .map(landed => landed.txId),
    ).toEqual(steps.map(({ txn }) => txn.txID()))
    expect(seller.ended.at(-1)).toMatchObject({ txId, payer: newcomer.address, amount: '10000' })
    // The run is not one whose facilitator settled something else.
    expect(seller.ended.at(-1)?.mismatch).toBeUndefined()
  })

  it.each([0, 7, 15])('of sixteen, as number %i: once, and its neighbours pay for nothing', async index => {
    const { sandbox, payer, payTo, payment, send, challenge, seen, usdcOf } = await selling()
    const paid = payment()
    const steps = Array.from({ length: 14 }, (_, number) => payer.sendAlgo(payer.address, number))
    steps.splice(index === 0 ? 5 : 0, 0, sponsorship(sandbox, sandbox.feePayer, 16_000))
    steps.splice(index, 0, paid)
    bound(steps)
    expect((await send(presented(steps, index, challenge))).status).toBe(200)
    const again = await send(presented(steps, index, challenge))
    expect([again.status, (await errorIn(again)).txId]).toEqual([409, paid.txn.txID()])
    const neighbour = await send(presented(steps, index === 3 ? 4 : 3, challenge))
    expect([neighbour.status, challengeErrorIn(neighbour)]).toEqual([
      402,
      expect.stringMatching(/can be read/),
    ])
    expect([seen.runs, usdcOf(payTo)]).toEqual([1, 10_000n])
  })

  it('that settles in one group of another order is still one payment', async () => {
    const { sandbox, payment, send, inGroup, challenge, seen } = await selling()
    const paid = payment()
    const steps = [sponsorship(sandbox, sandbox.feePayer, 2_000), paid]
    expect((await send(inGroup(steps, paid))).status).toBe(200)
    // The same transaction, presented alone and with a stranger beside it.
    for (const shown of [[paid], [paid, sponsorship(sandbox, sandbox.feePayer, 1_000)]]) {
      expect((await send(presented(shown, 0, challenge))).status).toBe(409)
    }
    expect(seen.runs).toBe(1)
  })
})

describe('a group that is refused, whatever the facilitator says', () => {
  type Given = Awaited<ReturnType<typeof selling>>
  const groups: readonly [why: string, about: RegExp, steps: (given: Given) => [Step[], Step, boolean?]][] = [
    [
      'it pays the seller twice',
      /second transaction/,
      ({ payment, payer, payTo }) => {
        const paid = payment()
        return [[payer.send(payTo, PRICE, { note: 'second' }), paid], paid]
      },
    ],
    [
      'another wallet closes its holding to the seller',
      /second transaction/,
      ({ payment, other, payTo }) => {
        const paid = payment()
        return [[paid, other.send(other.address, 0, { closeRemainderTo: payTo })], paid]
      },
    ],
    [
      'the payment closes the payer’s holding',
      /more than pay/,
      ({ payer, other, payTo }) => {
        const paid = payer.send(payTo, PRICE, { closeRemainderTo: other.address })
        return [[paid], paid]
      },
    ],
    [
      'no round is valid for all of it',
      /no valid round in common/,
      ({ sandbox, payer, payment }) => {
        const paid = payment(payer, 10)
        const later = { firstValid: sandbox.round() + 11n, lastValid: sandbox.round() + 20n }
        return [[paid, payer.sendAlgo(payer.address, 0, { window: later })], paid]
      },
    ],
    [
      'its id was not made of it',
      /not those that its group id was made of/,
      ({ payer, payment }) => {
        const paid = payment()
        bound([paid, payer.sendAlgo(payer.address, 0)])
        return [[paid], paid, true]
      },
    ],
  ]

  it.each(groups)('because %s', async (_, about, stepsOf) => {
    const facilitator = await fakeFacilitator()
    const given = await selling({ facilitatorUrl: facilitator.url })
    const [steps, paid, isBound = false] = stepsOf(given)
    const header = isBound
      ? presented(steps, steps.indexOf(paid), given.challenge)
      : given.inGroup(steps, paid)
    const response = await given.send(header)
    expect([response.status, challengeErrorIn(response)]).toEqual([402, expect.stringMatching(about)])
    expect([given.seen.runs, facilitator.count('/verify'), facilitator.count('/settle')]).toEqual([0, 0, 0])
  })

  it('two payments that land together: a call that failed would be charged by the other', async () => {
    const { sandbox, payer, payTo, payment, send, challenge, seen, usdcOf } = await selling()
    const [first, second] = [payment(), payer.send(payTo, PRICE, { note: 'second' })]
    const steps = bound([sponsorship(sandbox, sandbox.feePayer, 3_000), first, second])
    const failed = await send(presented(steps, 1, challenge), '/broken')
    const bought = await send(presented(steps, 2, challenge))
    expect([failed.status, bought.status, seen.runs, usdcOf(payTo)]).toEqual([402, 402, 0, 0n])
  })
})

describe('the rounds of a group', () => {
  it('bound the handler, however long the payment itself is valid', async () => {
    const { sandbox, payer, payment, send, inGroup, seen, usdcOf, payTo } = await selling()
    const paid = payment(payer, 900)
    const soon = payer.sendAlgo(payer.address, 0, { window: windowOf(sandbox, 3), feeMicroAlgos: 2_000 })
    const response = await send(inGroup([soon, paid], paid))
    expect([response.status, challengeErrorIn(response)]).toEqual([402, expect.stringMatching(/expires/)])
    expect([seen.runs, usdcOf(payTo)]).toEqual([0, 0n])
  })

  it('end the wait for a payment that was never submitted', async () => {
    const { sandbox, payer, payment, send, inGroup, seen, usdcOf, payTo } = await selling({
      advanced: { timeouts: { certaintyMs: 20_000, reconcilePauseMs: 50 } },
    })
    sandbox.faults.set('settle', 'die-before')
    const paid = payment(payer, 900)
    const window = windowOf(sandbox, 15)
    const sending = send(
      inGroup([payer.sendAlgo(payer.address, 0, { window, feeMicroAlgos: 2_000 }), paid], paid),
    )
    await expect.poll(() => seen.runs).toBe(1)
    sandbox.advanceRounds(20)
    const response = await sending
    // Past the group's last round the chain proves it, though the payment alone would be valid for 880 rounds more.
    expect([response.status, challengeErrorIn(response)]).toEqual([
      402,
      expect.stringMatching(/last valid round/),
    ])
    expect(usdcOf(payTo)).toBe(0n)
  })
})

describe('afterwards', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-groups-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('a settlement without an answer is found by the payment’s own id, and booked once beside other transfers', async () => {
    const journal = join(folder, 'seller.jsonl')
    const { sandbox, seller, payer, other, payTo, payment, send, inGroup, usdcOf } = await selling({
      journal,
      advanced: { timeouts: { reconcilePauseMs: 10 } },
    })
    sandbox.faults.set('settle', 'die-after')
    const paid = payment()
    const steps = [
      other.send(payer.address, 7),
      payer.sendAlgo(payTo, 5),
      paid,
      payer.call(),
      sponsorship(sandbox, sandbox.feePayer, 5_000),
    ]
    const response = await send(inGroup(steps, paid))
    expect([response.status, receiptIn(response).transaction]).toEqual([200, paid.txn.txID()])
    expect(usdcOf(payTo)).toBe(10_000n)
    await seller.server.shutdown('the audit reads the journal')
    const booked: unknown[] = []
    const report = await reconcileJournal({
      journal: () => readJournals([journal]),
      transfers: () => closing(indexedTransfers({ url: sandbox.algodUrl })),
      // An hour later, no call can be at work.
      nowMs: () => Date.now() + 3_600_000,
      onBooked: ({ txId, amount }) => booked.push([txId, amount]),
    })
    expect([report.differences, booked]).toEqual([[], [[paid.txn.txID(), '10000']]])
  })
})

function challengeErrorIn(response: Response): string | undefined {
  const header = response.headers.get('payment-required')
  return header === null ? undefined : JSON.parse(Buffer.from(header, 'base64').toString()).error
}

async function errorIn(response: Response): Promise<{ code: string; txId?: string }> {
  return ((await response.json()) as { error: { code: string; txId?: string } }).error
}
