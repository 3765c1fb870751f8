/** Payments inside larger groups, as wallets build them: found, bounded by the whole group, and refused where it is not one. */
import { encodeMsgpack, SignedTransaction, type Transaction, TransactionType } from 'algosdk'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { encodedMember } from '../../src/adapters/algorand/decode-by-algosdk.js'
import { algorandPaymentReader } from '../../src/adapters/algorand/read-payment.js'
import type { GroupProblem } from '../../src/ports/payment-reader.js'
import { grouped, payloadOf, type Rider, riderOf, transferOf, WALLETS } from '../support/wallet-groups.js'
import vectors from '../vectors/groups.json' with { type: 'json' }

const reader = algorandPaymentReader()

const PROBLEMS: Readonly<Record<string, GroupProblem>> = {
  'a second payment to the seller': 'anotherTransfer',
  'a second payment to the seller by another payer': 'anotherTransfer',
  'the seller pays back': 'anotherTransfer',
  'a clawback from the seller': 'anotherTransfer',
  'another wallet closes its holding to the seller': 'anotherTransfer',
  'the payment rekeys': 'notPlain',
  'the payment closes the holding': 'notPlain',
  'the payment closes the holding to the seller': 'notPlain',
  'the payment is a clawback': 'notPlain',
  'no common round': 'noCommonRound',
  'a transaction is missing': 'notWhole',
  'a transaction is added': 'notWhole',
  'a transaction stands elsewhere': 'notWhole',
  'no transaction has a group id': 'notWhole',
  'one transaction has no group id': 'notWhole',
  'the payment alone, of a group of two': 'notWhole',
  'the same transaction twice': 'notWhole',
}
const UNREAD = ['17 transactions', 'the index points at an application call']

describe('the vectors of wallets’ groups', () => {
  for (const { name, paymentPayload, transactions, verify } of vectors.cases) {
    const problem = PROBLEMS[name]
    it(`${name}: ${UNREAD.includes(name) ? 'not read' : (problem ?? 'taken')}`, () => {
      const read = reader.read(paymentPayload)
      if (UNREAD.includes(name)) {
        expect(read).toBeUndefined()
        return
      }
      const payment = transactions[paymentPayload.payload.paymentIndex]!
      expect(read).toMatchObject({ txId: payment.txId, payer: payment.sender, groupProblem: problem })
      expect(read?.proven()).toBe(true)
      for (const { txId } of transactions) expect(read?.isOfGroup(txId)).toBe(true)
      const bounding = problem === 'notWhole' ? [payment] : transactions
      expect([read?.firstValid, read?.lastValid]).toEqual([
        BigInt(Math.max(...bounding.map(({ firstValid }) => firstValid))),
        BigInt(Math.min(...bounding.map(({ lastValid }) => lastValid))),
      ])
      // A group that can never land is one that the official facilitator refuses as well.
      if (problem === 'notWhole' || problem === 'noCommonRound') expect(verify.isValid).toBe(false)
    })
  }

  it('are of both kinds, and every problem is among them', () => {
    const names = vectors.cases.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining([...Object.keys(PROBLEMS), ...UNREAD]))
    expect(names.length).toBe(46)
  })
})

const round = fc.integer({ min: 1, max: 1_000 })
const window = fc
  .tuple(round, round)
  .map(([first, length]) => ({ firstValid: first, lastValid: first + length }))
const rider = fc.record<Rider>({
  kind: fc.constantFrom<Rider['kind']>('opt-in', 'call', 'algo', 'other-asset', 'transfer', 'keys'),
  by: fc.nat(WALLETS - 1),
  window,
  note: fc.base64String({ minLength: 1, maxLength: 40 }),
  more: fc.nat(3),
})

describe('any group that algosdk builds', () => {
  it('is encoded as algosdk encodes it, whatever signs it', () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
    const subsig = fc.record({ pk: bytes(32), s: fc.option(bytes(64), { nil: undefined }) })
    const signature = fc.oneof(
      fc.constantFrom({}, { sig: new Uint8Array(64) }),
      bytes(64).map(sig => ({ sig })),
      fc
        .array(subsig, { minLength: 1, maxLength: 3 })
        .map(subsigs => ({ msig: { v: 1, thr: 1, subsig: subsigs } })),
    )
    fc.assert(
      fc.property(rider, signature, fc.boolean(), (member, signed, isRekeyed) => {
        const txn = riderOf(member)
        const whole = new SignedTransaction({ txn, ...signed, ...(isRekeyed && { sgnr: txn.sender }) })
        expect(Buffer.compare(encodedMember(whole), encodeMsgpack(whole))).toBe(0)
      }),
      { numRuns: 150 },
    )
  })

  it('has its payment found wherever it stands, in the rounds that all transactions share', () => {
    fc.assert(
      fc.property(fc.array(rider, { maxLength: 15 }), fc.nat(15), window, (riders, at, own) => {
        const { group, index } = withPayment(riders, at, own)
        const read = reader.read(payloadOf(grouped(group), index))
        const [first, last] = [max(group, ({ firstValid }) => firstValid), min(group, txn => txn.lastValid)]
        expect(read).toMatchObject({
          txId: group[index]!.txID(),
          amount: 10_000n,
          firstValid: first,
          lastValid: last,
          groupProblem: first > last ? 'noCommonRound' : undefined,
        })
        expect(group.every(txn => read?.isOfGroup(txn.txID()))).toBe(true)
      }),
      { numRuns: 150 },
    )
  })

  it('is no group any more in another order, with one left out, put in or put in its place', () => {
    const change = fc.constantFrom('left out', 'put in', 'replaced', 'moved')
    fc.assert(
      fc.property(
        fc.array(rider, { minLength: 1, maxLength: 14 }),
        rider,
        fc.nat(15),
        fc.nat(14),
        change,
        (riders, other, at, where, how) => {
          const { group, index } = withPayment(riders, at, { firstValid: 1, lastValid: 2_000 })
          grouped(group)
          const payment = group[index]!
          const stranger = riderOf({ ...other, note: 'not of the group' })
          stranger.group = group[0]!.group
          const beside = group.filter(txn => txn !== payment)
          const spot = where % beside.length
          if (how === 'left out') beside.splice(spot, 1)
          if (how === 'put in') beside.splice(spot, 0, stranger)
          if (how === 'replaced') beside.splice(spot, 1, stranger)
          // The payment moves past its neighbour.
          const place = how === 'moved' ? (index === 0 ? 1 : index - 1) : Math.min(index, beside.length)
          beside.splice(place, 0, payment)
          const read = reader.read(payloadOf(beside, beside.indexOf(payment)))
          expect(read).toMatchObject({
            txId: payment.txID(),
            groupProblem: 'notWhole',
            firstValid: 1n,
            lastValid: 2_000n,
          })
        },
      ),
      { numRuns: 150 },
    )
  })

  it('is refused with a second transfer to or from the seller, wherever it stands', () => {
    const second = fc.constantFrom<Parameters<typeof transferOf>[0]>(
      { to: 'seller', amount: 1 },
      { from: 'seller', amount: 1 },
      { from: 'seller', to: 'seller', amount: 1 },
      { closeTo: 'seller', amount: 0 },
      { clawedFrom: 'seller', amount: 5 },
    )
    fc.assert(
      fc.property(
        fc.array(rider, { maxLength: 13 }),
        second,
        fc.nat(15),
        fc.nat(15),
        (riders, terms, a, b) => {
          const wide = { firstValid: 1, lastValid: 2_000 }
          const inWide = riders.map(one => ({ ...one, window: wide }))
          const { group, index } = withPayment(inWide, a, wide)
          const payment = group[index]!
          group.splice(b % (group.length + 1), 0, transferOf({ ...terms, window: wide, note: 'second' }))
          const read = reader.read(payloadOf(grouped(group), group.indexOf(payment)))
          expect(read).toMatchObject({ txId: payment.txID(), groupProblem: 'anotherTransfer' })
        },
      ),
      { numRuns: 100 },
    )
  })

  it('decodes nothing beside what is no payment', () => {
    const call = riderOf({ kind: 'call', by: 0, window: { firstValid: 1, lastValid: 9 }, note: '' })
    const payload = payloadOf(grouped([call, transferOf({ amount: 10_000 })]), 0)
    const { paymentGroup } = payload.payload
    const decoding = vi.spyOn(Buffer, 'from')
    const decoded = () =>
      (decoding.mock.calls as unknown[][])
        .filter(([, encoding]) => encoding === 'base64')
        .map(([text]) => text)
    try {
      expect(reader.read({ payload: { paymentGroup, paymentIndex: 0 } })).toBeUndefined()
      expect(decoded()).toEqual([paymentGroup[0]])
      decoding.mockClear()
      expect(reader.read({ payload: { paymentGroup, paymentIndex: 2 } })).toBeUndefined()
      expect(decoded()).toEqual([])
    } finally {
      decoding.mockRestore()
    }
  })

  it('knows every kind of transaction that rides along', () => {
    const kinds = ['opt-in', 'call', 'algo', 'other-asset', 'transfer', 'keys'] as const
    const types = kinds.map(
      kind => riderOf({ kind, by: 0, window: { firstValid: 1, lastValid: 9 }, note: '' }).type,
    )
    const { axfer, appl, pay, keyreg } = TransactionType
    expect(types).toEqual([axfer, appl, pay, axfer, axfer, keyreg])
  })
})

function withPayment(riders: readonly Rider[], at: number, own: Rider['window']) {
  const group = riders.map((one, number) => riderOf({ ...one, note: `${number} ${one.note}` }))
  const index = at % (group.length + 1)
  group.splice(index, 0, transferOf({ amount: 10_000, window: own, note: 'the payment' }))
  return { group, index }
}

function max(group: readonly Transaction[], of: (txn: Transaction) => bigint): bigint {
  return group.map(of).reduce((a, b) => (a > b ? a : b))
}

function min(group: readonly Transaction[], of: (txn: Transaction) => bigint): bigint {
  return group.map(of).reduce((a, b) => (a < b ? a : b))
}
