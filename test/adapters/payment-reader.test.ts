import { Address, Transaction, TransactionType } from 'algosdk'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { decodeMember } from '../../src/adapters/algorand/decode-by-algosdk.js'
import { endOfValue } from '../../src/adapters/algorand/msgpack.js'
import { algorandPaymentReader } from '../../src/adapters/algorand/read-payment.js'
import { signedBytes } from '../../src/adapters/algorand/transaction-hashes.js'
import { toBase64 } from '../../src/domain/bytes.js'
import { PUBLIC_NETWORKS, type PublicNetwork } from '../../src/domain/network.js'
import type { PaymentPayload } from '../../src/domain/x402.js'
import payments from '../vectors/payments.json' with { type: 'json' }
import verdicts from '../vectors/verdicts.json' with { type: 'json' }

const reader = algorandPaymentReader()
const sponsored = payments.payments[0]!
const unsponsored = payments.payments[1]!

describe('the official client’s payments', () => {
  for (const vector of payments.payments) {
    it(vector.name, () => {
      const read = reader.read(vector.paymentPayload)
      const payment = vector.transactions.at(-1)!
      expect(read).toMatchObject({
        txId: vector.paymentTxId,
        payer: payment.sender,
        receiver: payment.axfer?.receiver,
        amount: 10_000n,
        asset: vector.paymentRequired.accepts[0]!.asset,
        firstValid: BigInt(payment.firstValid),
        lastValid: BigInt(payment.lastValid),
        genesisHash: PUBLIC_NETWORKS[vector.network as PublicNetwork].genesisHash,
      })
      for (const { txid } of vector.transactions) expect(read?.isOfGroup(txid)).toBe(true)
      expect(read?.isOfGroup('A'.repeat(52))).toBe(false)
      expect(read?.proven()).toBe(true)
    })
  }
})

describe('the verdicts’ payments', () => {
  const unread = [
    'type-pay-not-axfer',
    'payment-unsigned-raw',
    'payment-not-signed',
    'payment-unsigned-wrapper',
    'group-17',
    'group-empty',
    'index-negative',
    'index-fractional',
    'index-points-at-feepayer',
    'payload-missing-group',
    'group-item-not-string',
    'garbage-bytes',
    'trailing-bytes',
  ]
  for (const vector of verdicts.cases) {
    const { name } = vector
    const transactions = (vector.transactions ?? []) as readonly { txid?: string }[]
    it(`${name}: ${unread.includes(name) ? 'not read' : 'read'}`, () => {
      const payload = vector.paymentPayload as PaymentPayload
      const read = reader.read(payload)
      if (unread.includes(name)) {
        expect(read).toBeUndefined()
        return
      }
      const { paymentIndex } = payload.payload as { paymentIndex: number }
      expect(read?.txId).toBe(transactions[paymentIndex]?.txid)
      expect(transactions.every(({ txid }) => read?.isOfGroup(txid!))).toBe(true)
      expect(read?.proven()).toBe(!name.startsWith('signature-'))
    })
  }
})

describe('payments in any order', () => {
  const others = [payments.payments, verdicts.cases].flat().map(({ paymentPayload }) => paymentPayload)
  const readable = others.filter(payload => reader.read(payload as PaymentPayload))

  it('name their own receivers and sponsors, whoever was paid before', () => {
    const named = new Set<string | undefined>()
    fc.assert(
      fc.property(fc.shuffledSubarray(readable, { minLength: 2 }), inTurn => {
        for (const payload of inTurn) {
          const { paymentGroup, paymentIndex } = payload!.payload as {
            paymentGroup: string[]
            paymentIndex: number
          }
          const members = paymentGroup.map(text => decodeMember(Buffer.from(text, 'base64'))!)
          const isSigned = ({ signed }: (typeof members)[0]) => signed?.sig ?? signed?.msig ?? signed?.lsig
          const read = reader.read(payload as PaymentPayload)!
          expect(read.receiver).toBe(members[paymentIndex]!.txn.assetTransfer!.receiver.toString())
          expect(read.sponsor).toBe(members.find(member => !isSigned(member))?.txn.sender.toString())
          named.add(read.receiver).add(read.sponsor)
        }
      }),
      { numRuns: 50 },
    )
    expect(named.size).toBeGreaterThan(3)
  })
})

describe('one payment in another dress has the same id', () => {
  const text = unsponsored.paymentPayload.payload.paymentGroup[0]!
  const bytes = Buffer.from(text, 'base64')
  const [sig, txn] = entriesOf(bytes) as [Buffer, Buffer]
  const backwards = Buffer.concat([txn.subarray(0, 4), mapOf(entriesOf(txn.subarray(4)).reverse())])
  const unknownKey = Buffer.from('a37a7a7a01', 'hex')

  it.each([
    ['without padding', text.replace(/=+$/, '')],
    ['in the URL’s alphabet', bytes.toString('base64url')],
    ['with white space and strange characters', ` ${text.slice(0, 9)}\n\t!é${text.slice(9)} `],
    ['with its keys backwards', mapOf([txn, sig]).toString('base64')],
    ['with the transaction’s keys backwards', mapOf([sig, backwards]).toString('base64')],
    ['with a key that nobody knows', mapOf([sig, txn, unknownKey]).toString('base64')],
  ])('%s', (_, dressed) => {
    expect(dressed).not.toBe(text)
    const read = reader.read({ payload: { paymentGroup: [dressed], paymentIndex: 0, more: true } })
    expect(read?.txId).toBe(unsponsored.paymentTxId)
    expect(read?.proven()).toBe(true)
  })

  it('a signature by someone else is read, and not proven', () => {
    const forged = toBase64(signedBytes(txn.subarray(4), Buffer.alloc(64, 1)))
    const read = reader.read({ payload: { paymentGroup: [forged], paymentIndex: 0 } })
    expect(read?.txId).toBe(unsponsored.paymentTxId)
    expect(read?.proven()).toBe(false)
  })
})

describe('remembers', () => {
  const { payload } = sponsored.paymentPayload
  /** Another object for each call, as each request brings. */
  const sent = (over: object = {}) => ({ payload: structuredClone({ ...payload, ...over }) })
  const decoded = (work: () => void) => {
    const decoding = vi.spyOn(Buffer, 'from')
    try {
      work()
      return (decoding.mock.calls as unknown[][]).filter(([, encoding]) => encoding === 'base64').length
    } finally {
      decoding.mockRestore()
    }
  }

  it('what was proven, by its bytes', () => {
    const fresh = algorandPaymentReader()
    const first = fresh.read(sent())!
    expect(decoded(() => fresh.read(sent()))).toBe(2)
    expect(first.proven()).toBe(true)
    const again = () =>
      expect(fresh.read(sent())).toEqual({
        ...first,
        isOfGroup: expect.any(Function),
        proven: expect.any(Function),
      })
    expect(decoded(again)).toBe(0)
    const known = fresh.read(sent())!
    expect(known.proven()).toBe(true)
    for (const { txid } of sponsored.transactions) expect(known.isOfGroup(txid)).toBe(true)
    expect(known.isOfGroup('A'.repeat(52))).toBe(false)
  })

  it('nothing of it for other bytes, another index, or another group of the same texts', () => {
    const fresh = algorandPaymentReader()
    expect(fresh.read(sent())!.proven()).toBe(true)
    const [payerless, payment] = payload.paymentGroup as [string, string]
    const bytes = Buffer.from(payment, 'base64')
    bytes[bytes.indexOf('sig') + 8]! ^= 1
    const forged = () => fresh.read(sent({ paymentGroup: [payerless, bytes.toString('base64')] }))!
    for (const read of [forged(), forged()]) {
      expect(read.txId).toBe(sponsored.paymentTxId)
      expect(read.proven()).toBe(false)
    }
    expect(fresh.read(sent({ paymentIndex: 0 }))).toBe(undefined)
    expect(fresh.read(sent({ paymentGroup: [payment], paymentIndex: 0 }))?.groupProblem).toBe('notWhole')
  })

  it('no more than a few megabytes, whatever payers send', () => {
    const fresh = algorandPaymentReader()
    const isKnown = () => decoded(() => fresh.read(sent())) === 0
    fresh.read(sent())!.proven()
    const [first, second] = payload.paymentGroup as [string, string]
    // Base64 takes any number of spaces, so the same payment comes in any number of long texts.
    const others = (from: number, to: number) => {
      for (let other = from; other < to; other++) {
        expect(
          fresh.read(sent({ paymentGroup: [first + ' '.repeat(60_000 - other), second] }))!.proven(),
        ).toBe(true)
      }
    }
    others(0, 20)
    expect(isKnown()).toBe(true)
    others(20, 120)
    expect(isKnown()).toBe(false)
  })
})

describe('never throws', () => {
  const start = performance.now()
  it('whatever JSON the payload is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => reader.read(value as PaymentPayload) === undefined || true),
    )
    const index = fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constant(null))
    const group = fc.array(fc.oneof(fc.base64String(), fc.string(), fc.integer()), { maxLength: 20 })
    fc.assert(
      fc.property(group, index, (paymentGroup, paymentIndex) => {
        expect(reader.read({ payload: { paymentGroup, paymentIndex } })).toBeUndefined()
      }),
    )
  })

  it('whatever bytes a payment is changed into', () => {
    const original = Buffer.from(sponsored.paymentPayload.payload.paymentGroup[1]!, 'base64')
    const at = fc.nat(original.length - 1)
    fc.assert(
      fc.property(at, fc.nat(255), fc.nat(400), (position, byte, length) => {
        const bytes = Buffer.from(original)
        bytes[position] = byte
        const texts = [
          sponsored.paymentPayload.payload.paymentGroup[0]!,
          bytes.subarray(0, length + 1).toString('base64'),
        ]
        const read = reader.read({ payload: { paymentGroup: texts, paymentIndex: 1 } })
        if (read && read.txId !== sponsored.paymentTxId) expect(read.proven()).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('and does not run out of memory where 150 bytes claim to hold gigabytes', () => {
    const claims = [0xdd, 0xdf].flatMap(lead =>
      [0x82, 0x92].map(open =>
        Buffer.from([open, 0xa3, 0x74, 0x78, 0x6e, ...repeated([lead, 1, 0xff, 0xff, 0xff], 30)]),
      ),
    )
    for (const bytes of [...claims, Buffer.alloc(16_000, 0x91), Buffer.alloc(16_000, 0x81)]) {
      const paymentGroup = Array.from({ length: 4 }, () => bytes.toString('base64'))
      expect(reader.read({ payload: { paymentGroup, paymentIndex: 0 } })).toBeUndefined()
    }
    expect(performance.now() - start).toBeLessThan(20_000)
  })

  it('reads no group that is too large', () => {
    const text = unsponsored.paymentPayload.payload.paymentGroup[0]!
    const of = (size: number) => ({ payload: { paymentGroup: Array(size).fill(text), paymentIndex: 0 } })
    expect(reader.read(of(16))).toBeDefined()
    expect(reader.read(of(17))).toBeUndefined()
    expect(reader.read({ payload: { paymentGroup: ['A'.repeat(70_000)], paymentIndex: 0 } })).toBeUndefined()
  })

  it('tells the genesis hash of any network', () => {
    const { sender } = txnOf(unsponsored.paymentPayload.payload.paymentGroup[0]!)
    const txn = new Transaction({
      type: TransactionType.axfer,
      sender,
      suggestedParams: {
        fee: 0,
        minFee: 0,
        flatFee: true,
        firstValid: 1,
        lastValid: 2,
        genesisHash: Buffer.alloc(32, 9),
      },
      assetTransferParams: { assetIndex: 1, amount: 1, receiver: new Address(Buffer.alloc(32, 3)) },
    })
    const paymentGroup = [toBase64(signedBytes(txn.toByte(), Buffer.alloc(64, 1)))]
    expect(reader.read({ payload: { paymentGroup, paymentIndex: 0 } })).toMatchObject({
      genesisHash: Buffer.alloc(32, 9).toString('base64'),
      amount: 1n,
    })
  })
})

function txnOf(text: string): Transaction {
  return decodeMember(Buffer.from(text, 'base64'))!.txn
}

/** The entries of a msgpack map, each with its key. */
function entriesOf(map: Buffer): Buffer[] {
  const entries: Buffer[] = []
  for (let at = 1; at < map.length; ) {
    const end = endOfValue(map, endOfValue(map, at))
    entries.push(map.subarray(at, end))
    at = end
  }
  return entries
}

function mapOf(entries: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(0x80 | entries.length), ...entries])
}

function repeated(bytes: readonly number[], times: number): number[] {
  return Array.from({ length: times }, () => bytes).flat()
}
