/** One payment in each encoding that a node may be sent. What lands, lands under the id of the canonical encoding. */
import type { SignedTransaction } from 'algosdk'
import { type Question, question } from '../question.js'
import type { Stage } from '../stage.js'
import { array, bin, float64, int64, map, nil, str, uint64, type Written } from './odd-msgpack.js'

type Field = readonly [key: string, value: Written]
type Odd = (parts: { txn: Field[]; signed: Field[]; canonical: SignedTransaction }) => Written

/** A payment of ALGO, field by field. */
async function parts(stage: Stage) {
  const canonical = await stage.signed({ asset: null, amount: 3n })
  const { txn, sig } = canonical
  const fields: Field[] = [
    ['amt', Buffer.of(3)],
    ['fee', Buffer.of(0xcd, 0x03, 0xe8)],
    ['fv', uint64(txn.firstValid)],
    ['gen', str(txn.genesisID!)],
    ['gh', bin(txn.genesisHash!)],
    ['lv', uint64(txn.lastValid)],
    ['note', bin(txn.note)],
    ['rcv', bin(txn.payment!.receiver.publicKey)],
    ['snd', bin(txn.sender.publicKey)],
    ['type', str('pay')],
  ]
  const signed: Field[] = [
    ['sig', bin(sig!)],
    ['txn', written(fields)],
  ]
  return { txn: fields, signed, canonical }
}

function written(
  fields: readonly Field[],
  key: (name: string) => Written = str,
  head: 'fix' | 16 | 32 = 'fix',
) {
  return map(
    fields.map(([name, value]) => [key(name), value] as const),
    head,
  )
}

/** The signed payment with its transaction changed. */
function inner(change: (txn: Field[], canonical: SignedTransaction) => Written): Odd {
  return ({ txn, signed, canonical }) => written([signed[0]!, ['txn', change(txn, canonical)]])
}

/** The signed payment with one field of its transaction written otherwise. */
function field(name: string, value: (canonical: SignedTransaction) => Written): Odd {
  return inner((txn, canonical) =>
    written(txn.map(each => (each[0] === name ? [name, value(canonical)] : each))),
  )
}

/** The signed payment with one more field. */
function also(name: string, value: Written): Odd {
  return inner(txn => written([...txn, [name, value]]))
}

const zero = Buffer.alloc(32)

const ODD: Readonly<Record<string, Odd>> = {
  'wide integers': ({ signed }) => written(signed),
  'keys in another order': inner(txn => written([...txn].reverse())),
  'the signature after the transaction': ({ signed }) => written([...signed].reverse()),
  'a key twice': inner(txn => written([['amt', Buffer.of(9)], ...txn])),
  'a map16': inner(txn => written(txn, str, 16)),
  'a map32': inner(txn => written(txn, str, 32)),
  'an outer map16': ({ signed }) => written(signed, str, 16),
  'str8 keys': inner(txn => written(txn, name => str(name, 'str8'))),
  'str16 keys': inner(txn => written(txn, name => str(name, 'str16'))),
  'bin keys': inner(txn => written(txn, name => str(name, 'bin8'))),
  'a signed integer': field('amt', () => int64(3n)),
  'a negative integer': field('amt', () => int64(-3n)),
  'a float': field('amt', () => float64(3)),
  'a string for an integer': field('amt', () => str('3')),
  'true for an integer': field('amt', () => Buffer.of(0xc3)),
  'nil for an integer': field('amt', () => nil),
  'an explicit zero': also('xaid', Buffer.of(0)),
  'nil for a field': also('close', nil),
  'a zero address': also('close', bin(zero)),
  'empty bytes': also('grp', bin(Buffer.alloc(0))),
  'an empty lease': also('lx', bin(zero)),
  'an empty logicsig': ({ signed }) => written([['lsig', map([])], ...signed]),
  'an empty multisig': ({ signed }) => written([['msig', map([])], ...signed]),
  'bytes as a string': field('note', ({ txn }) => str(txn.note)),
  'bytes as bin16': field('note', ({ txn }) => bin(txn.note, 16)),
  'bytes as bin32': field('note', ({ txn }) => bin(txn.note, 32)),
  'bytes as numbers': field('note', ({ txn }) => array([...txn.note].map(each => Buffer.of(each)))),
  'an address as a string': field('rcv', ({ txn }) =>
    Buffer.concat([Buffer.of(0xd9, 32), txn.payment!.receiver.publicKey]),
  ),
  'an address of 33 bytes': field('rcv', ({ txn }) =>
    bin(Buffer.concat([txn.payment!.receiver.publicKey, Buffer.of(9)])),
  ),
  'a receiver of 31 bytes': field('rcv', ({ txn }) => bin(txn.payment!.receiver.publicKey.subarray(0, 31))),
  'a type in bytes': field('type', () => bin(Buffer.from('pay'))),
  'an unknown field': also('zzz', Buffer.of(1)),
  'an unknown outer field': ({ signed }) => written([...signed, ['zzz', Buffer.of(1)]]),
  'an unknown type': field('type', () => str('xyz')),
  'no type': inner(txn => written(txn.filter(([name]) => name !== 'type'))),
  'a trailing byte': ({ signed }) => Buffer.concat([written(signed), Buffer.of(1)]),
  'a byte cut off': ({ signed }) => written(signed).subarray(0, -1),
  'half of it': ({ signed }) => written(signed).subarray(0, 100),
  'a bare transaction': ({ txn }) => written(txn),
  'an array around it': ({ signed }) => array([written(signed)]),
  garbage: () => Buffer.of(0xc1, 1, 2, 3),
  text: () => Buffer.from('hello'),
  JSON: () => Buffer.from('{}'),
  'an empty map': () => Buffer.of(0x80),
  nil: () => nil,
  'an empty array': () => Buffer.of(0x90),
  'an array that claims 2^32-1 items': () => Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff),
  'arrays in arrays': () => Buffer.alloc(200, 0x91),
}

export const encodings: readonly Question[] = Object.entries(ODD).map(([name, odd]) =>
  question(`encoding: ${name}`, async stage => {
    const made = await parts(stage)
    const told = await stage.land(odd(made))
    const found = await stage.pending(made.canonical.txn)
    return { told, landed: found.status === 200, as: found.body }
  }),
)
