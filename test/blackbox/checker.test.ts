/** The checker of the black box finds each anomaly that it names, in a history of a few lines. */
import algosdk from 'algosdk'
import { describe, expect, it } from 'vitest'
import { judge, type Transfer } from '../../proof/blackbox/checker.js'
import type { Got, Line, Sent } from '../../proof/blackbox/history.js'
import { paymentIn } from '../../proof/blackbox/proof-of-payer.js'

const account = algosdk.generateAccount()
const seller = algosdk.generateAccount().addr

/** A header that pays so much. */
function payment(amount = 10_000, rounds = 1): string {
  const txn = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    ...{ sender: account.addr, receiver: seller, assetIndex: 10458941, amount },
    suggestedParams: {
      ...{ fee: 0, minFee: 0, flatFee: true, firstValid: rounds, lastValid: rounds + 10 },
      ...{ genesisID: 'testnet-v1.0', genesisHash: new Uint8Array(32).fill(1) },
    },
  })
  const paymentGroup = [Buffer.from(txn.signTxn(account.sk)).toString('base64')]
  return Buffer.from(JSON.stringify({ payload: { paymentGroup, paymentIndex: 0 } })).toString('base64')
}

const landed = (header: string): Transfer => paymentIn(header)

let exchanges = 0
/** A request, and what came back; `undefined` where nothing did. */
function exchange(sent: Partial<Sent>, got: Partial<Got> | undefined): Line[] {
  const of = { atMs: 0, buyer: 'plain', purchase: 'wish', exchange: ++exchanges }
  const asked: Sent = { ...of, what: 'sent', path: '/answer', body: '{}', ...sent }
  const end: Line = got
    ? { ...of, purchase: asked.purchase, what: 'got', status: 200, ...got }
    : { ...of, what: 'lost', why: 'cut' }
  return [asked, end]
}

const RUNS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const
const [one, two] = [payment(), payment(10_000, 2)]
const idempotencyKey = 'a key'

const anomalies = (lines: readonly Line[], transfers: readonly Transfer[]) =>
  judge(lines, transfers).findings.map(({ anomaly }) => anomaly)

describe('an honest history', () => {
  it('of a payment, an answer, and the same again', () => {
    const txId = landed(one).txId
    const lines = [
      ...exchange({}, { status: 402, quoted: '10000' }),
      ...exchange({ payment: one, idempotencyKey }, undefined),
      ...exchange({ payment: one, idempotencyKey }, { status: 503, code: 'settlement_unknown' }),
      ...exchange({ payment: one, idempotencyKey }, { run: RUNS[0], txId }),
      ...exchange({ payment: two, idempotencyKey }, { run: RUNS[0], txId, isReplayed: true }),
    ]
    expect(anomalies(lines, [landed(one)])).toEqual([])
  })

  it('whose answer was lost, and came under its receipt beside a second payment that never landed', () => {
    const lines = [
      ...exchange({ payment: one, idempotencyKey }, undefined),
      ...exchange(
        { payment: two, idempotencyKey },
        { run: RUNS[0], txId: landed(one).txId, isReplayed: true },
      ),
    ]
    expect(anomalies(lines, [landed(one)])).toEqual([])
  })
})

describe('finds', () => {
  const txId = landed(one).txId
  it.each<[string, Line[], Transfer[]]>([
    ['unpaid-delivery', exchange({ payment: one }, { run: RUNS[0] }), []],
    [
      'double-delivery',
      [...exchange({ payment: one }, { run: RUNS[0] }), ...exchange({ payment: one }, { run: RUNS[1] })],
      [landed(one)],
    ],
    [
      'double-charge',
      [...exchange({ payment: one }, undefined), ...exchange({ payment: two }, { run: RUNS[0] })],
      [landed(one), landed(two)],
    ],
    ['lost-answer', exchange({ payment: one }, { status: 409, code: 'payment_spent' }), [landed(one)]],
    ['lost-answer', exchange({ payment: one }, undefined), [landed(one)]],
    [
      'failure-charged',
      exchange({ payment: one, body: '{"fail":true}' }, { status: 500, code: 'asked_to_fail' }),
      [landed(one)],
    ],
    [
      'overcharge',
      [
        { what: 'agreed', atMs: 0, buyer: 'plain', purchase: 'wish', payment: one, amount: '9999' },
        ...exchange({ payment: one }, { run: RUNS[0] }),
      ],
      [landed(one)],
    ],
    [
      'unequal-replay',
      [
        ...exchange({ payment: one, idempotencyKey }, { run: RUNS[0] }),
        ...exchange({ idempotencyKey }, { run: RUNS[1] }),
      ],
      [landed(one)],
    ],
    ['false-no', exchange({ payment: one }, { status: 402 }), [landed(one)]],
    ['false-receipt', exchange({}, { run: RUNS[0], txId }), []],
    [
      'stolen-answer',
      exchange({ purchase: 'stranger of wish', payment: one }, { run: RUNS[0] }),
      [landed(one)],
    ],
    ['foreign-income', exchange({ payment: one }, { run: RUNS[0] }), [landed(one), landed(two)]],
  ])('%s', (anomaly, lines, transfers) => {
    expect(anomalies(lines, transfers)).toContain(anomaly)
  })

  it('calls that were given away', () => {
    const calls = Array.from({ length: 7 }, (_, at) =>
      exchange({ window: 'w' }, { run: `00000000-0000-4000-8000-00000000000${at}` }),
    )
    expect(judge(calls.flat(), []).givenAway).toBe(2)
  })
})
