/** What a seller owes: by a journal and a chain that are written out, and by ones that were really made. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/node-clients.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/payment-signer.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { owedRefunds } from '../../src/app/reconciliation/owed-refunds.js'
import { TESTNET } from '../../src/domain/network.js'
import { defineEndpoint } from '../../src/index.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import type { Transfer } from '../../src/ports/incoming-transfers.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { svc } from '../cli/run.js'
import { openSeller, pay, type Seller } from '../support/seller.js'
import { AMOUNT, ASSET, callOf, HEADER, PAY_TO, PAYER, STARTED_MS, WAYS } from './calls.js'

const PERIOD = { fromMs: STARTED_MS - 3_600_000, toMs: STARTED_MS + 3_600_000 }
const ways = Array.from({ length: WAYS }, (_, number) => callOf(number))
const settled = ways.find(({ final, txId }) => final === 'settled' && txId !== undefined)!
const replayed = ways.find(({ final }) => final === 'replayed')!
const doubtful = ways.find(({ final }) => final === 'inDoubt')!

const payment = (txId: string, other: Partial<Transfer> = {}): Transfer => ({
  txId,
  payer: PAYER,
  receiver: PAY_TO,
  asset: ASSET,
  amount: BigInt(AMOUNT),
  landedMs: STARTED_MS,
  ...other,
})
const back = (txId: string, other: Partial<Transfer> = {}) =>
  payment(txId, { payer: PAY_TO, receiver: PAYER, landedMs: STARTED_MS + 60_000, ...other })

function owed(runs: readonly EndedCall[], chain: readonly Transfer[]) {
  return owedRefunds({
    journal: async function* () {
      yield { headers: [HEADER], runs, lost: 0, unreadable: 0, flaws: [] }
    },
    transfers: () => ({
      async *to(receiver, asset, { fromMs, toMs }) {
        yield chain
          .filter(each => each.receiver === receiver && each.asset === asset)
          .filter(({ landedMs }) => landedMs > fromMs && landedMs < toMs)
      },
      find: async txId => chain.find(each => each.txId === txId),
      close: async () => {},
    }),
    period: PERIOD,
    clock: { now: () => STARTED_MS + 3_600_000 },
  })
}

const doubt = { ...doubtful, txId: 'D'.repeat(52) }
const broken = { ...settled, streamBroken: true } as const
const whole = { ...replayed, txId: settled.txId! }

describe('what is owed', () => {
  it.each<[string, EndedCall[], Transfer[], unknown[]]>([
    ['a payment in doubt that landed', [doubt], [payment(doubt.txId)], [['settled_in_doubt', undefined]]],
    ['not one that did not land', [doubt], [], []],
    ['a stream that broke', [broken], [payment(broken.txId!)], [['stream_broken', undefined]]],
    ['not one that was replayed whole', [broken, whole], [payment(broken.txId!)], []],
    ['not a stream whose payment is not there', [broken], [], []],
    [
      'not what was sent back later, in the same amount, by the account that was paid',
      [doubt],
      [payment(doubt.txId), back('B1')],
      [['settled_in_doubt', 'B1']],
    ],
    [
      'what was sent back before, in part, or by others',
      [doubt],
      [
        payment(doubt.txId),
        back('B1', { landedMs: STARTED_MS - 500 }),
        back('B2', { amount: 1n }),
        back('B3', { payer: 'X' }),
      ],
      [['settled_in_doubt', undefined]],
    ],
    [
      'one of two, where one was sent back',
      [doubt, broken],
      [payment(doubt.txId), payment(broken.txId!, { landedMs: STARTED_MS + 1 }), back('B1')],
      [
        ['settled_in_doubt', 'B1'],
        ['stream_broken', undefined],
      ],
    ],
  ])('is %s', async (_, runs, chain, expected) => {
    const { refunds } = await owed(runs, chain)
    expect(refunds.map(({ reason, sentBackBy }) => [reason, sentBackBy])).toEqual(expected)
  })
})

describe('svc refunds', () => {
  let folder: string
  let seller: Seller
  let sandbox: Sandbox
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-refunds-'))
    sandbox = await startSandbox()
    seller = await openSeller(
      [defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })],
      // A node that is not there: the agent cannot learn that the payment landed.
      {
        journal: join(folder, 'runs.jsonl'),
        algodUrl: 'http://127.0.0.1:9',
        sandbox,
        timeouts: { certaintyMs: 200 },
      },
    )
  })
  afterAll(async () => {
    await sandbox?.close()
    await rm(folder, { recursive: true })
  })

  it('lists a payment that landed in doubt, until it is sent back', async () => {
    expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
    sandbox.faults.set('settle', 'die-after')
    const unknown = await pay(seller, `${seller.url}/work`, { body: {} })
    expect(unknown.status).toBe(503)
    await seller.close()

    const list = () =>
      svc(['refunds', join(folder, 'runs.jsonl'), '--to', '2120-01-01'], { SVC_SANDBOX: sandbox.url })
    const before = await list()
    const { address } = sandbox.wallet
    expect([before.code, before.stderr]).toEqual([1, 'svc: $0.01 is owed, for 1 payment (refunds_owed)\n'])
    expect(before.stdout).toContain(
      `owed  $0.01 in USDC to ${address}\n  why      the caller was told settlement_unknown`,
    )

    await sendBack(sandbox, address)
    const after = await list()
    expect([after.code, after.stdout]).toEqual([0, expect.stringContaining('Nothing is owed')])
    expect(after.stdout).toMatch(/^sent back {2}\$0\.01 in USDC to /m)
  })
})

/** As a wallet does: a transfer by the seller's own key, which pays its own fee. */
async function sendBack(sandbox: Sandbox, address: string): Promise<void> {
  const algod = algodClient({ url: sandbox.algodUrl })
  const signer = algorandPaymentSigner({ key: signingKey(sandbox.seller.mnemonic), network: TESTNET, algod })
  const transfer = {
    scheme: 'exact',
    network: TESTNET.caip2,
    asset: TESTNET.usdcId,
    amount: '10000',
    payTo: address,
    maxTimeoutSeconds: 60,
    extra: {},
  }
  const { payload } = await signer.sign({ x402Version: 2, accepts: [transfer] } as never, transfer)
  const [signed] = (payload.payload as { paymentGroup: string[] }).paymentGroup
  const sent = await fetch(`${sandbox.url}/v2/transactions`, {
    method: 'POST',
    body: Buffer.from(signed!, 'base64'),
  })
  expect(sent.status).toBe(200)
  await algod.close()
}
