/** The reader of canonical transactions is held to algosdk: what it takes, algosdk reads alike and encodes to the same bytes. */
import { base32nopad } from '@scure/base'
import {
  Address,
  encodeMsgpack,
  SignedTransaction,
  type SuggestedParams,
  Transaction,
  TransactionType,
} from 'algosdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBase32 } from '../../src/adapters/algorand/address.js'
import { decodeMember } from '../../src/adapters/algorand/decode-by-algosdk.js'
import { endOfValue } from '../../src/adapters/algorand/msgpack.js'
import {
  type CanonicalMember,
  readCanonical,
} from '../../src/adapters/algorand/read-canonical-transaction.js'
import payments from '../vectors/payments.json' with { type: 'json' }
import verdicts from '../vectors/verdicts.json' with { type: 'json' }

const RUNS = Number(process.env.CANONICAL_RUNS ?? 2_000)

/** At the ends of each form that msgpack has for a number. */
const number = fc.oneof(
  fc.constantFrom(0n, 1n, 0x7fn, 0x80n, 0xffn, 0x100n, 0xffffn, 0x1_0000n, 0xffff_ffffn, 0x1_0000_0000n),
  fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
)
const round = fc.oneof(number, fc.bigInt({ min: 1n, max: 60_000_000n }))
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
const account = bytes32.map(key => new Address(key))
const note = fc.oneof(
  fc.constantFrom(0, 1, 31, 255, 256, 1_023, 1_024).map(length => new Uint8Array(length).fill(7)),
  fc.uint8Array({ maxLength: 40 }),
)
const genesisID = fc.constantFrom('', 'mainnet-v1.0', 'testnet-v1.0', 'x'.repeat(31), 'x'.repeat(32))

const suggestedParams: fc.Arbitrary<SuggestedParams> = fc
  .record({ fee: number, rounds: fc.tuple(round, round), genesisID, genesisHash: bytes32 })
  .map(({ fee, rounds, ...rest }) => ({
    ...rest,
    fee,
    minFee: 0n,
    flatFee: true,
    firstValid: rounds[0] < rounds[1] ? rounds[0] : rounds[1],
    lastValid: rounds[0] < rounds[1] ? rounds[1] : rounds[0],
  }))

const common = fc.record(
  { sender: account, suggestedParams, note, lease: bytes32, rekeyTo: account },
  { requiredKeys: ['sender', 'suggestedParams'] },
)
const payment = fc.record(
  { amount: number, receiver: account, closeRemainderTo: account },
  { requiredKeys: ['amount', 'receiver'] },
)
const transfer = fc.record(
  { assetIndex: number, amount: number, receiver: account, assetSender: account, closeRemainderTo: account },
  { requiredKeys: ['assetIndex', 'amount', 'receiver'] },
)

const transaction = fc
  .tuple(
    common,
    fc.oneof(
      payment.map(paymentParams => ({ type: TransactionType.pay, paymentParams })),
      transfer.map(assetTransferParams => ({ type: TransactionType.axfer, assetTransferParams })),
    ),
    fc.option(bytes32),
  )
  .map(([fields, own, group]) => {
    const txn = new Transaction({ ...fields, ...own } as ConstructorParameters<typeof Transaction>[0])
    if (group) txn.group = group
    return txn
  })

const member = fc
  .tuple(
    transaction,
    fc.constantFrom('bare', 'unsigned', 'signed'),
    fc.uint8Array({ minLength: 64, maxLength: 64 }),
  )
  .map(([txn, dress, sig]) =>
    dress === 'bare'
      ? txn.toByte()
      : encodeMsgpack(new SignedTransaction(dress === 'signed' ? { txn, sig } : { txn })),
  )

/** What payments are judged by, in values that can be compared; `byAlgosdk` encodes anew. */
function facts({ txn, signed, encoding }: CanonicalMember) {
  return told(txn, signed !== undefined, signed?.sig, encoding)
}

function byAlgosdk(bytes: Uint8Array) {
  const decoded = decodeMember(bytes)
  if (!decoded) return undefined
  const { txn, signed } = decoded
  const other = signed?.msig ?? signed?.lsig ?? signed?.sgnr
  return { ...told(txn, signed !== undefined, signed?.sig, txn.toByte()), ...(other && { other }) }
}

function told(
  txn: CanonicalMember['txn'],
  isWrapped: boolean,
  sig: Uint8Array | undefined,
  text: Uint8Array,
) {
  const { assetTransfer: moved } = txn
  return {
    isWrapped,
    sig: hex(sig),
    encoding: hex(text),
    sender: hex(txn.sender.publicKey),
    rounds: [txn.firstValid, txn.lastValid],
    genesisHash: hex(txn.genesisHash),
    group: hex(txn.group),
    rekeyTo: hex(txn.rekeyTo?.publicKey),
    moved: moved && [moved.assetIndex, moved.amount, hex(moved.receiver.publicKey)],
    from: hex(moved?.assetSender?.publicKey),
    rest: hex(moved?.closeRemainderTo?.publicKey),
  }
}

const hex = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('hex')

describe('transactions of the official client', () => {
  const groups = [
    ...payments.payments.map(({ paymentPayload }) => paymentPayload.payload.paymentGroup),
    ...verdicts.cases.map(vector => {
      const { paymentPayload } = vector as { paymentPayload?: { payload?: { paymentGroup?: unknown } } }
      const group = paymentPayload?.payload?.paymentGroup
      return Array.isArray(group) ? group.filter((text): text is string => typeof text === 'string') : []
    }),
  ]
  it('are read alike, and most of them here', () => {
    const bytes = groups.flat().map(text => Buffer.from(text, 'base64'))
    const taken = bytes.filter(one => readCanonical(one))
    expect(taken.length).toBeGreaterThan(bytes.length * 0.8)
    for (const one of taken) expect(facts(readCanonical(one)!)).toEqual(byAlgosdk(one))
  })
})

describe('generated transactions', () => {
  it('are read alike, and left to algosdk for a reason', () => {
    let taken = 0
    fc.assert(
      fc.property(member, bytes => {
        const read = readCanonical(bytes)
        const decoded = byAlgosdk(bytes)
        if (read) {
          taken++
          expect(facts(read)).toEqual(decoded)
          return
        }
        // A round or an asset that is zero, a genesis id of 32 characters, a note of 256, an account or a hash of zeros.
        const { rounds, sender, genesisHash, moved } = decoded!
        const isLeft =
          rounds.includes(0n) ||
          moved?.[0] === 0n ||
          Buffer.from(bytes).includes('x'.repeat(32)) ||
          Buffer.from(bytes).includes(Buffer.from('a46e6f7465c5', 'hex')) ||
          [sender, genesisHash, moved?.[2] ?? 'a payment'].some(
            key => key === undefined || /^0+$/.test(String(key)),
          )
        expect(isLeft).toBe(true)
      }),
      { numRuns: RUNS },
    )
    expect(taken).toBeGreaterThan(RUNS / 4)
  })

  it('with bytes that are changed, cut out or put in, are read alike or not at all', () => {
    const damage = fc.array(
      fc.record({
        at: fc.nat(700),
        how: fc.constantFrom('set', 'cut', 'put'),
        byte: fc.integer({ min: 0, max: 255 }),
      }),
      { minLength: 1, maxLength: 3 },
    )
    let taken = 0
    fc.assert(
      fc.property(member, damage, (bytes, changes) => {
        const damaged = changes.reduce(changed, Buffer.from(bytes))
        const read = readCanonical(damaged)
        if (!read) return
        taken++
        expect(facts(read)).toEqual(byAlgosdk(damaged))
      }),
      { numRuns: RUNS * 2 },
    )
    expect(taken).toBeGreaterThan(RUNS / 100)
  })

  it('in any form that is not canonical are left to algosdk', () => {
    const spoilt = new Set<string>()
    fc.assert(
      fc.property(transaction, fc.constantFrom(...Object.keys(SPOILERS)), fc.nat(), (txn, how, pick) => {
        const before = entriesOf(Buffer.from(txn.toByte()))
        const spoil = SPOILERS[how as keyof typeof SPOILERS]
        const places = [...before.keys()].filter(at => spoil(before, at) !== undefined)
        if (places.length === 0 || !readCanonical(mapOf(before))) return
        const after = spoil(before, places[pick % places.length]!)!
        spoilt.add(how)
        expect(readCanonical(mapOf(after))).toBeUndefined()
        expect(readCanonical(Buffer.concat([Buffer.from('81a374786e', 'hex'), mapOf(after)]))).toBeUndefined()
      }),
      { numRuns: RUNS },
    )
    expect([...spoilt].sort()).toEqual(Object.keys(SPOILERS).sort())
  })

  it('under a signature of zeros are left to algosdk', () => {
    const signed = (txn: Transaction, sig: Buffer) =>
      Buffer.concat([Buffer.from('82a3736967c440', 'hex'), sig, Buffer.from('a374786e', 'hex'), txn.toByte()])
    fc.assert(
      fc.property(transaction, txn => {
        expect(readCanonical(signed(txn, Buffer.alloc(64)))).toBeUndefined()
        expect(readCanonical(signed(txn, Buffer.alloc(64, 1)))).toEqual(
          readCanonical(Buffer.from(txn.toByte())) && expect.anything(),
        )
      }),
    )
  })
})

type Entries = readonly (readonly [key: string, value: Buffer])[]

/** What another encoder might write. `undefined` where this entry cannot be written so. */
const SPOILERS = {
  'a number in a longer form': replaced(value => {
    const lead = value[0]!
    if (lead < 0x80) return Buffer.of(0xcc, lead)
    if (lead < 0xcc || lead > 0xce) return undefined
    return Buffer.concat([Buffer.of(lead + 1), Buffer.alloc(value.length - 1), value.subarray(1)])
  }),
  'a number of zero': replaced(value => (isNumber(value) ? Buffer.of(0) : undefined)),
  'an account of zeros': replaced(value =>
    value[0] === 0xc4 && value[1] === 32
      ? Buffer.concat([value.subarray(0, 2), Buffer.alloc(32)])
      : undefined,
  ),
  'bytes in a longer form': replaced(value =>
    value[0] === 0xc4 ? Buffer.concat([Buffer.of(0xc5, 0), value.subarray(1)]) : undefined,
  ),
  'a text in a longer form': replaced(value =>
    value[0]! > 0xa0 && value[0]! < 0xc0
      ? Buffer.concat([Buffer.of(0xd9, value[0]! - 0xa0), value.subarray(1)])
      : undefined,
  ),
  'an empty note': (entries, at) =>
    entries[at]![0] === 'note' ? put(entries, at, Buffer.of(0xc4, 0)) : undefined,
  'an entry twice': (entries, at) => entries.toSpliced(at, 0, entries[at]!),
  'two entries in another order': (entries, at) =>
    at === 0 ? undefined : entries.toSpliced(at - 1, 2, entries[at]!, entries[at - 1]!),
  'a key of another type': (entries, at) => {
    if (at > 0) return undefined
    const isTransfer = entries.some(([key]) => key === 'xaid')
    const other: Entries[number] = isTransfer ? ['amt', Buffer.of(1)] : ['aamt', Buffer.of(1)]
    return [...entries, other].toSorted(([one], [two]) => (one < two ? -1 : 1))
  },
  'a key that nobody knows': (entries, at) =>
    entries.toSpliced(at, 0, [`${entries[at]![0].slice(0, -1)}!`, Buffer.of(1)]),
} as const satisfies Record<string, (entries: Entries, at: number) => Entries | undefined>

function replaced(change: (value: Buffer) => Buffer | undefined) {
  return (entries: Entries, at: number): Entries | undefined => {
    const value = change(entries[at]![1])
    return value && put(entries, at, value)
  }
}

function put(entries: Entries, at: number, value: Buffer): Entries {
  return entries.with(at, [entries[at]![0], value])
}

function isNumber(value: Buffer): boolean {
  return value[0]! < 0x80 || (value[0]! >= 0xcc && value[0]! <= 0xcf)
}

function entriesOf(map: Buffer): Entries {
  const entries: [string, Buffer][] = []
  for (let at = map[0] === 0xde ? 3 : 1; at < map.length; ) {
    const value = endOfValue(map, at)
    const end = endOfValue(map, value)
    entries.push([map.toString('latin1', at + 1, value), map.subarray(value, end)])
    at = end
  }
  return entries
}

function mapOf(entries: Entries): Buffer {
  const count = entries.length
  const head = count < 16 ? Buffer.of(0x80 | count) : Buffer.of(0xde, 0, count)
  const written = entries.flatMap(([key, value]) => [
    Buffer.of(0xa0 | key.length),
    Buffer.from(key, 'latin1'),
    value,
  ])
  return Buffer.concat([head, ...written])
}

describe('bytes that are no transaction', () => {
  it('are never read, and never throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
        expect(readCanonical(bytes)).toBeUndefined()
      }),
    )
  })

  it('are the start of one', () => {
    const bytes = Buffer.from(payments.payments[0]!.paymentPayload.payload.paymentGroup[1]!, 'base64')
    expect(readCanonical(bytes)).toBeDefined()
    for (let end = 0; end < bytes.length; end++) expect(readCanonical(bytes.subarray(0, end))).toBeUndefined()
  })
})

describe('base32', () => {
  it('is what @scure/base writes, for any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), bytes => {
        expect(encodeBase32(bytes)).toBe(base32nopad.encode(bytes))
      }),
    )
  })
})

function changed(bytes: Buffer, { at, how, byte }: { at: number; how: string; byte: number }): Buffer {
  const place = at % (bytes.length + 1)
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)]
  if (how === 'put') return Buffer.concat([before, Buffer.of(byte), after])
  if (how === 'cut') return Buffer.concat([before, after.subarray(1)])
  return Buffer.concat([before, after.length ? Buffer.of(byte) : after, after.subarray(1)])
}
