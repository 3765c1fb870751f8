/** What a seller owes: by a journal and a chain that are written out, and by ones that were really made. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Algodv2, makeAssetTransferTxnWithSuggestedParamsFromObject, mnemonicToSecretKey } from 'algosdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EndedStream, JournalRun } from '../../src/audit/journal/line-format.js'
import type { Transfer } from '../../src/audit/reconciliation/incoming-transfers.js'
import { owedRefunds } from '../../src/audit/reconciliation/owed-refunds.js'
import { TESTNET } from '../../src/domain/network.js'
import { defineEndpoint } from '../../src/index.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { svc } from '../cli/run.js'
import { ask, openSeller, pay, receiptIn, type Seller, signFor } from '../support/seller.js'
import {
  AMOUNT,
  ASSET,
  callOf,
  callOn,
  HEADER,
  PAY_TO,
  PAYER,
  pathEndingIn,
  pathTo,
  STARTED_MS,
  settledPath,
  WAYS,
} from './calls.js'

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

/** Indexers list the transactions of an account newest first. */
function owed(
  runs: readonly JournalRun[],
  chain: readonly Transfer[],
  knownRefunds?: ReadonlySet<string>,
  streams: readonly EndedStream[] = [],
  nowMs = STARTED_MS + 3_600_000,
) {
  return owedRefunds({
    knownRefunds,
    nowMs: () => nowMs,
    journal: async function* () {
      yield { headers: [HEADER], runs, lost: 0, unreadable: 0, streams, counts: [], flaws: [] }
    },
    transfers: () => ({
      async *to(receiver, asset, { fromMs, toMs }) {
        yield chain
          .filter(each => each.receiver === receiver && each.asset === asset)
          .filter(({ landedMs }) => landedMs > fromMs && landedMs < toMs)
          .sort((a, b) => b.landedMs - a.landedMs)
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
const yielded = {
  ...callOn(pathTo('paymentSpent', [...settledPath.slice(0, -1), 'settling.elsewhere']), 'paymentSpent'),
  txId: 'E'.repeat(52),
}
/** The first to learn that the payment landed. */
const found = {
  ...callOn(pathEndingIn('recovering.notKept'), 'answerNotKept'),
  id: 'found',
  txId: 'F'.repeat(52),
}
const notKept = { ...callOn(pathEndingIn('opening.notKept'), 'answerNotKept'), id: 'not-kept' }
const slow = { ...settled, id: 'slow' }
const note = `refund of ${doubt.txId}`
const whole = { ...replayed, txId: settled.txId! }

describe('what is owed', () => {
  it.each<[string, EndedCall[], Transfer[], unknown[]]>([
    ['a payment in doubt that landed', [doubt], [payment(doubt.txId)], [['settled_in_doubt', undefined]]],
    ['not one that did not land', [doubt], [], []],
    ['a stream that broke', [broken], [payment(broken.txId!)], [['stream_broken', undefined]]],
    ['not one that was replayed whole', [broken, whole], [payment(broken.txId!)], []],
    ['not a stream whose payment is not there', [broken], [], []],
    [
      'a payment that nobody answered for elsewhere',
      [yielded],
      [payment(yielded.txId)],
      [['answered_elsewhere', undefined]],
    ],
    [
      'not one that another server answered for',
      [yielded, { ...settled, id: 'other', txId: yielded.txId }],
      [payment(yielded.txId)],
      [],
    ],
    ['a payment whose answer was not kept', [found], [payment(found.txId)], [['answer_not_kept', undefined]]],
    [
      'one in doubt whose caller asked again, and was told that the answer was not kept',
      [{ ...doubt, txId: found.txId }, found],
      [payment(found.txId)],
      [['answer_not_kept', undefined]],
    ],
    [
      'one in doubt that another replica had found landed',
      [doubt, { ...notKept, txId: doubt.txId }],
      [payment(doubt.txId)],
      [['settled_in_doubt', undefined]],
    ],
    [
      'not one that was answered before, or after by the call that was slow',
      [
        { ...settled, txId: doubt.txId },
        { ...notKept, txId: doubt.txId },
        found,
        { ...slow, txId: found.txId },
      ],
      [payment(doubt.txId), payment(found.txId)],
      [],
    ],
    [
      'not what was sent back, as the note of the transfer says',
      [doubt],
      [payment(doubt.txId), back('B1', { amount: 10_001n, note })],
      [['settled_in_doubt', 'B1']],
    ],
    [
      'what was sent back before, in part, by others, or for another payment',
      [doubt],
      [
        payment(doubt.txId),
        back('B1', { landedMs: STARTED_MS - 500 }),
        back('B2', { amount: 1n, note }),
        back('B3', { payer: 'X', note }),
        back('B4', { note: `refund of ${'X'.repeat(52)}` }),
      ],
      [['settled_in_doubt', undefined]],
    ],
    [
      'one of two, where the note names the other',
      [doubt, broken],
      [payment(doubt.txId), payment(broken.txId!, { landedMs: STARTED_MS + 1 }), back('B1', { note })],
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

describe('a stream', () => {
  const leaving = { ...settled, streaming: true } as const
  const end = (other: Partial<EndedStream> = {}) => ({ stream: leaving.id, txId: leaving.txId!, ...other })
  const window = { windowEndsMs: STARTED_MS + 86_400_000 }
  const landed = [payment(leaving.txId!)]
  const lists = async (
    run: JournalRun,
    streams: EndedStream[],
    nowMs?: number,
    others: JournalRun[] = [],
  ) => {
    const { refunds, mayBeKept, unexplained } = await owed(
      [run, ...others],
      landed,
      undefined,
      streams,
      nowMs,
    )
    return [refunds, mayBeKept].map(list => list.map(({ reason }) => reason)).concat([Array(unexplained)])
  }

  it.each<[string, JournalRun, EndedStream[], string[], string[]]>([
    ['that is leaving is not owed, and explains its payment', leaving, [], [], []],
    ['that ended is not owed', leaving, [end()], [], []],
    ['that the seller broke is owed', leaving, [end({ brokenBy: 'seller' })], ['stream_broken'], []],
    ['that its caller broke is not', leaving, [end({ brokenBy: 'caller' })], [], ['stream_left']],
    [
      'that sold a window is listed apart, whoever broke it',
      { ...leaving, ...window },
      [end({ brokenBy: 'seller' })],
      [],
      ['window_sold'],
    ],
    [
      'of a line of an audit page is owed by who broke it',
      { ...broken, brokenBy: 'caller' },
      [],
      [],
      ['stream_left'],
    ],
    [
      'of another call does not count',
      leaving,
      [end({ stream: 'another', txId: 'X'.repeat(52), brokenBy: 'seller' })],
      [],
      [],
    ],
  ])('%s', async (_, run, streams, refunds, mayBeKept) => {
    expect(await lists(run, streams)).toEqual([refunds, mayBeKept, []])
  })

  it('is owed where its process died with it, once no stream can last so long', async () => {
    const hourMs = 3_600_000
    expect(await lists(leaving, [], STARTED_MS + hourMs)).toEqual([[], [], []])
    expect(await lists(leaving, [], STARTED_MS + 1.1 * hourMs)).toEqual([['stream_broken'], [], []])
  })

  it('that broke is not owed where the caller got the answer whole later, or the window’s key with a refusal', async () => {
    const brokenEnd = end({ brokenBy: 'seller' })
    expect(await lists(leaving, [brokenEnd], undefined, [whole])).toEqual([[], [], []])
    const again = { ...leaving, id: 'again', charged: 'yes' } as const
    expect(await lists(leaving, [brokenEnd, end({ stream: 'again' })], undefined, [again])).toEqual([
      [],
      [],
      [],
    ])
    const refused = { ...found, txId: leaving.txId!, ...window }
    expect(await lists(refused, [])).toEqual([[], ['window_sold'], []])
  })
})

describe('a transfer without a note', () => {
  const later = { landedMs: STARTED_MS + 120_000 }
  const chain = [
    payment(doubt.txId),
    back('B1'),
    payment(broken.txId!, later),
    back('B2', { landedMs: STARTED_MS + 180_000 }),
  ]
  const told = async (...known: string[]) => {
    const { refunds } = await owed([doubt, broken], chain, new Set(known))
    return refunds.map(({ sentBackBy, maybeSentBackBy }) => [sentBackBy, maybeSentBackBy])
  }

  it('may be a purchase: each may have sent back the oldest payment before it', async () => {
    expect(await told()).toEqual([
      [undefined, 'B1'],
      [undefined, 'B2'],
    ])
  })

  it('that the seller names is the refund, also where an older one is a purchase', async () => {
    const bought = [payment(doubt.txId), back('PURCHASE'), back('REFUND', { landedMs: STARTED_MS + 90_000 })]
    const { refunds } = await owed([doubt], bought, new Set(['REFUND']))
    expect(refunds).toEqual([expect.objectContaining({ sentBackBy: 'REFUND' })])
  })

  it('has sent it back where the seller says so', async () => {
    expect(await told('B1')).toEqual([
      ['B1', undefined],
      [undefined, 'B2'],
    ])
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
        advanced: { timeouts: { certaintyMs: 200 } },
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

    const list = (...more: string[]) =>
      svc(['refunds', join(folder, 'runs.jsonl'), '--to', '2120-01-01', ...more], {
        SVC_SANDBOX: sandbox.url,
      })
    const before = await list()
    const { address } = sandbox.wallet
    expect([before.code, before.stderr]).toEqual([1, 'svc: $0.01 is owed, for 1 payment (refunds_owed)\n'])
    expect(before.stdout).toContain(
      `owed  $0.01 in USDC to ${address}\n  why      the caller was told settlement_unknown`,
    )

    const payment = /payment {2}([A-Z2-7]{52}),/.exec(before.stdout)![1]!
    const unnamed = await sendBack(sandbox, address)
    const maybe = await list()
    expect(maybe.code).toBe(1)
    expect(maybe.stdout).toContain(`perhaps  sent back in ${unnamed}; if so, add --sent ${unnamed}\n`)
    expect((await list('--sent', unnamed)).code).toBe(0)

    const named = await sendBack(sandbox, address, `refund of ${payment}`)
    const after = await list()
    expect([after.code, after.stdout]).toEqual([0, expect.stringContaining('Nothing is owed')])
    expect(after.stdout).toMatch(/^sent back {2}\$0\.01 in USDC to /m)
    expect(after.stdout).toContain(`back in  ${named}\n`)
  })
})

describe('a purchase of a balance', () => {
  it('that is sent back after calls on it is not owed, and its balance lasts: the books show what was used', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-refunds-'))
    const path = join(folder, 'runs.jsonl')
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
    const about = { balance: { amounts: ['$1'], period: '90d' } }
    const seller = await openSeller([work], { journal: path, about })
    const { sandbox, url } = seller
    const sale = await pay(seller, `${url}/balance`, { body: { amount: '$1' } })
    const key = sale.headers.get('x-svc-balance-key')!
    const call = async (id: string) => {
      const headers = { 'x-svc-balance-key': key, 'idempotency-key': id }
      return (await ask(`${url}/work`, { body: {}, headers })).headers.get('x-svc-balance')
    }
    expect(await call('before')).toBe('990000')
    const { txId } = receiptIn(sale)
    const back = await sendBack(sandbox, sandbox.wallet.address, `refund of ${txId}`, 1_000_000)
    expect(back).not.toBe(txId)
    expect(await call('after')).toBe('980000')
    await seller.server.shutdown('audit')
    const run = (command: string, ...more: string[]) =>
      svc([command, path, '--to', '2120-01-01', ...more], { SVC_SANDBOX: sandbox.url })
    const refunds = await run('refunds')
    expect([refunds.code, refunds.stdout]).toEqual([0, expect.stringContaining('Nothing is owed')])
    const audited = await run('audit')
    expect([audited.code, audited.stderr]).toEqual([0, ''])
    expect(audited.stdout).toContain(
      'balances: $1.00 sold, $0.02 used, $0.98 unspent, $0.00 expired, $0.00 in doubt',
    )
    await seller.close()
    await sandbox.close()
    await rm(folder, { recursive: true })
  })
})

describe('what anybody can put on the list', () => {
  it('is nothing: not an invoice, and not what a sister agent sold, by presenting its payment here', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-refunds-'))
    const path = join(folder, 'runs.jsonl')
    const sandbox = await startSandbox()
    const sell = (price: string) => [defineEndpoint({ name: 'work', price, handler: () => ({ done: true }) })]
    const seller = await openSeller(sell('$0.01'), { journal: path, sandbox })
    const sister = await openSeller(sell('$50'), { sandbox })
    sandbox.fund(sandbox.wallet.address, { usdc: 200_000_000n })
    const sold = await signFor(sister, `${sister.url}/work`, { body: {} })
    expect((await ask(`${sister.url}/work`, { body: {}, headers: sold })).status).toBe(200)
    const dear = await signFor(sister, `${sister.url}/work`, { body: {} })
    for (const headers of [sold, dear]) {
      const answer = await ask(`${seller.url}/work`, { body: {}, headers })
      expect(answer.status).toBeGreaterThanOrEqual(402)
    }
    // The same price as here, and sold there: only the chain can say so.
    const twin = await openSeller(sell('$0.01'), { sandbox })
    const cheap = await signFor(twin, `${twin.url}/work`, { body: {} })
    expect((await ask(`${twin.url}/work`, { body: {}, headers: cheap })).status).toBe(200)
    expect((await ask(`${seller.url}/work`, { body: {}, headers: cheap })).status).toBeGreaterThanOrEqual(402)
    expect((await ask(`${sister.url}/work`, { body: {}, headers: dear })).status).toBe(200)
    expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
    for (const each of [seller, sister, twin]) await each.close()

    const listed = await svc(['refunds', path, '--to', '2120-01-01'], { SVC_SANDBOX: sandbox.url })
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining('Nothing is owed')])
    expect(listed.stdout).toContain('3 more transfers arrived that no run tells of')
    await sandbox.close()
    await rm(folder, { recursive: true })
  })
})

/** As a wallet does: a transfer by the seller's own key, which pays its own fee. */
async function sendBack(sandbox: Sandbox, receiver: string, note?: string, amount = 10_000): Promise<string> {
  const algod = new Algodv2('', sandbox.algodUrl, new URL(sandbox.algodUrl).port)
  const { addr, sk } = mnemonicToSecretKey(sandbox.seller.mnemonic)
  const transfer = makeAssetTransferTxnWithSuggestedParamsFromObject({
    sender: addr,
    receiver,
    assetIndex: BigInt(TESTNET.usdcId),
    amount,
    suggestedParams: await algod.getTransactionParams().do(),
    ...(note && { note: new TextEncoder().encode(note) }),
  })
  return (await algod.sendRawTransaction(transfer.signTxn(sk)).do()).txid
}
