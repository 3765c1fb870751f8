/** The checker of the black box finds each anomaly that it names, in a history of a few lines. */
import algosdk from 'algosdk'
import { describe, expect, it } from 'vitest'
import { judge, type Transfer } from '../../proof/blackbox/checker.js'
import type { Got, Line, Sent } from '../../proof/blackbox/history.js'
import { operations } from '../../proof/blackbox/operations.js'
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

  it('streams that broke are counted apart, and no other answer that is not kept', () => {
    const said = [{ status: 409, code: 'answer_not_kept' }, { status: 402 }] as const
    const ofStream = exchange({ path: '/tale', payment: one }, said[0])
    const { findings, brokenStreams } = judge(ofStream, [landed(one)])
    expect({ findings, brokenStreams }).toEqual({ findings: [], brokenStreams: 1 })
    // What became of it was said last beside another payment, under the same key.
    const doubted = exchange({ path: '/tale', payment: one }, { status: 503, code: 'store_unavailable' })
    const named = exchange({ path: '/tale', payment: two }, { ...said[0], txId: landed(one).txId })
    expect(judge([...doubted, ...named], [landed(one)])).toMatchObject({ findings: [], brokenStreams: 1 })
    expect(anomalies(doubted, [landed(one)])).toEqual(['lost-answer'])
    expect(anomalies(exchange({ path: '/answer', payment: one }, said[0]), [landed(one)])).toEqual([
      'lost-answer',
    ])
    expect(anomalies(exchange({ path: '/tale', payment: one }, said[1]), [landed(one)])).toContain(
      'lost-answer',
    )
  })

  describe('on a balance', () => {
    const balance = 'b'
    const sale = () => exchange({ payment: one }, { run: balance, soldBalance: balance, units: '100', txId })
    let keys = 0
    const call = (got: Partial<Got>, sent: Partial<Sent> = {}) =>
      exchange({ balance, idempotencyKey: `call ${keys++}`, ...sent }, got)
    const taking = (units: string, left: string, run: string = RUNS[0]) => ({
      run,
      charged: units,
      left,
      cost: units,
    })
    it.each<[string, Line[], string[]]>([
      ['units exact', [...call(taking('30', '70')), ...call({ status: 402, left: '70' })], []],
      ['less left', [...call(taking('30', '70')), ...call({ status: 402, left: '69' })], ['lost-units']],
      [
        'more left',
        [...call(taking('30', '70')), ...call({ status: 402, left: '71' })],
        ['free-units', 'stale-balance'],
      ],
      [
        'more taken than was sold',
        [...call(taking('60', '40')), ...call(taking('60', '0', RUNS[1]))],
        ['free-units'],
      ],
      [
        'a failed call that costs',
        [
          ...call({ status: 500, code: 'asked_to_fail', charged: '30' }, { body: '{"fail":true}' }),
          ...call({ status: 402, left: '70' }),
        ],
        ['failure-charged', 'false-no'],
      ],
      ['more taken than was allowed', call(taking('30', '70'), { maxCharge: '29' }), ['overcharge']],
      ['more taken than the handler said', call({ ...taking('30', '70'), cost: '29' }), ['overcharge']],
      [
        'a key that was charged twice',
        [
          ...call(taking('30', '70'), { idempotencyKey: 'same' }),
          ...call(taking('31', '69'), { idempotencyKey: 'same' }),
        ],
        ['unequal-replay'],
      ],
      [
        'a key with two answers',
        RUNS.flatMap(run => call(taking('30', '70', run), { idempotencyKey: 'same' })),
        ['unequal-replay'],
      ],
      ['a call without an end', call({ status: 503, code: 'charge_unknown' }), ['lost-answer']],
      [
        'an answer that was taken for and is not kept',
        call({ status: 409, code: 'answer_not_kept', charged: '30', left: '70' }),
        ['lost-answer'],
      ],
    ])('%s', (_, calls, expected) => {
      const found = anomalies([...sale(), ...calls], [landed(one)])
      expect([...new Set(found)].sort()).toEqual([...expected].sort())
    })
  })

  it('streams on a balance that were never counted are given away, and what was counted has one answer', () => {
    const sale = exchange({ payment: one }, { run: 'b', soldBalance: 'b', units: '100', txId })
    const tale = (got: Partial<Got>) =>
      exchange({ balance: 'b', path: '/tale', idempotencyKey: 'same' }, { left: '100', cost: '30', ...got })
    const whole = [...sale, ...tale({ run: RUNS[0] }), ...tale({ run: RUNS[1], charged: '30', left: '70' })]
    const { findings, givenAway } = judge(whole, [landed(one)])
    expect({ findings, givenAway }).toEqual({ findings: [], givenAway: 1 })
    const other = tale({ run: RUNS[0], charged: '30', left: '70' })
    expect(anomalies([...whole, ...other], [landed(one)])).toEqual(['unequal-replay'])
  })

  it('calls of a window that were counted and not answered', () => {
    const bought = exchange({ payment: one }, { run: RUNS[0], txId, soldWindow: 'w' })
    const calls = Array.from({ length: 3 }, (_, at) =>
      exchange(
        { window: 'w', idempotencyKey: `use ${at}` },
        { run: `10000000-0000-4000-8000-00000000000${at}` },
      ),
    )
    const usedUp = exchange({ window: 'w', idempotencyKey: 'last' }, { status: 402 })
    expect(anomalies([...bought, ...calls.flat(), ...usedUp], [landed(one)])).toEqual(['lost-units'])
  })

  it.each(['fail over', 'forget', 'split', 'another primary'])(
    'a key in a window has two answers only where Redis may have forgotten one: %s',
    name => {
      const [first, second] = RUNS.map(run => exchange({ window: 'w', idempotencyKey: 'same' }, { run }))
      const failover = [false, true].map(isOver => ({ what: 'deed', atMs: 1, name, isOver }) as const)
      expect(anomalies([...first!, ...failover, ...second!], [])).toEqual([])
      expect(anomalies([...first!, ...second!, ...failover], [])).toEqual(['unequal-replay'])
      expect(anomalies([...failover, ...first!, ...second!], [])).toEqual(['unequal-replay'])
    },
  )

  it('calls that were given away', () => {
    const calls = Array.from({ length: 7 }, (_, at) =>
      exchange({ window: 'w' }, { run: `00000000-0000-4000-8000-00000000000${at}` }),
    )
    expect(judge(calls.flat(), []).givenAway).toBe(2)
  })
})

describe('a history as operations', () => {
  it('names each end: known, certainly not, or unknown; and ends with the chain', () => {
    const lines: Line[] = [
      ...exchange({}, { status: 402 }),
      { what: 'deed', atMs: 5, name: 'kill', isOver: false },
      ...exchange({ payment: one }, undefined),
      ...exchange({ payment: one }, { run: RUNS[0] }),
      ...exchange({ balance: 'b' }, { status: 503, code: 'charge_unknown' }),
    ]
    const transfers = [landed(one)]
    const ops = [...operations(lines, transfers)]
    expect(ops.map(({ type, f }) => `${type} ${f}`)).toEqual([
      ...['invoke ask', 'fail ask', 'info break', 'invoke pay', 'info pay', 'invoke pay', 'ok pay'],
      ...['invoke use', 'info use', 'ok read'],
    ])
    expect(ops.map(({ index }) => index)).toEqual([...ops.keys()])
    expect([ops[2]!.time, ops.at(-1)!.value]).toEqual([5_000_000, transfers])
    // No process does two things at once.
    const invoked = ops.filter(({ type }) => type === 'invoke').map(({ process }) => process)
    expect(new Set(invoked).size).toBe(invoked.length)
  })
})
