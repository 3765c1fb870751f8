/** Groups that a node refuses, and some that it takes although they look odd: simulated, then submitted. */
import { OnApplicationComplete, type SignedTransaction, TransactionType } from 'algosdk'
import type { Label } from '../cast.js'
import { type Question, question } from '../question.js'
import { bind, type Move, type Stage, unsigned } from '../stage.js'

type Build = (stage: Stage) => Promise<readonly SignedTransaction[]>

const LEASE = Buffer.alloc(32, 7)

const MOVES: readonly (readonly [name: string, ...moves: readonly Move[]])[] = [
  ['a window of 1001 rounds', { lastIn: 1_001n }],
  ['a window of 1000 rounds', { lastIn: 1_000n }],
  ['a reversed window', { firstAgo: -9n, lastIn: 1n }],
  ['past its last round', { firstAgo: 5n, lastIn: -1n }],
  ['before its first round', { firstAgo: -50n, lastIn: 60n }],
  ['another genesis id', { more: { genesisID: 'other-v1.0' } }],
  ['another genesis hash', { more: { genesisHash: new Uint8Array(32).fill(1) } }],
  ['more ALGO than there is', { from: 'carol', asset: null, amount: 10n ** 12n }],
  ['ALGO below the sender’s minimum', { from: 'poor', asset: null, amount: 100_000n }],
  ['ALGO for a new account below its minimum', { asset: null, to: 'nobody', amount: 99_999n }],
  ['a fee that is more than there is', { from: 'poor', fee: 300_000n }],
  ['a fee that leaves less than the minimum', { from: 'exact' }],
  ['more of the asset than there is', { from: 'poor', amount: 11n }],
  ['the asset of an account without it', { from: 'carol' }],
  ['the asset to an account without it', { to: 'carol' }],
  ['the asset to an account that was never used', { to: 'nobody' }],
  ['nothing of the asset to an account without it', { to: 'carol', amount: 0n }],
  ['the asset from a frozen holding', { from: 'cold' }],
  ['the asset to a frozen holding', { to: 'cold' }],
  ['nothing of the asset from a frozen holding', { from: 'cold', amount: 0n }],
  ['an opt-in to an asset that is not there', { to: 'alice', asset: 999_999_999_999n, amount: 0n }],
  ['a transfer of an asset that is not there', { asset: 999_999_999_999n }],
  ['an opt-in that the account has no ALGO for', { from: 'nobody', to: 'nobody', amount: 0n }],
  ['an opt-in of somebody who has it already', { to: 'alice', amount: 0n }],
  ['a clawback by a stranger', { takenFrom: 'bob', to: 'alice' }],
  ['an asset’s close to oneself', { closeTo: 'alice' }],
  ['an asset’s close of an account without it', { from: 'carol', amount: 0n, closeTo: 'bob' }],
  ['an asset’s close to an account without it', { closeTo: 'carol' }],
  ['an ALGO close to oneself', { asset: null, closeTo: 'alice' }],
  ['an ALGO close with assets', { asset: null, closeTo: 'bob' }],
  ['a note of 4097 bytes', { note: Buffer.alloc(4_097, 1), fee: 2_000n }],
  ['a note of 1024 bytes', { note: Buffer.alloc(1_024, 2) }],
  ['a note of 1025 bytes at the minimum fee', { note: Buffer.alloc(1_025, 3) }],
  ['a note of 1025 bytes at its fee', { note: Buffer.alloc(1_025, 4), fee: 1_001n }],
  ['a note of 4096 bytes a microalgo short', { note: Buffer.alloc(4_096, 5), fee: 1_307n }],
  ['a note of 4096 bytes at its fee', { note: Buffer.alloc(4_096, 6), fee: 1_308n }],
  ['no fee', { fee: 0n }],
  ['a fee of 999', { fee: 999n }],
  ['a group that is a microalgo short', { fee: 999n }, { fee: 1_000n }],
  ['a group that pays for itself', { fee: 0n }, { fee: 2_000n, from: 'bob', to: 'alice' }],
  ['a group whose second member has no money', { amount: 1n }, { from: 'poor', amount: 11n }],
  [
    'a group whose second member gets it from the first',
    { to: 'poor', amount: 20n },
    { from: 'poor', amount: 21n },
  ],
  ['a lease', { lease: LEASE, lastIn: 5n }],
  [
    'a lease twice in a group',
    { from: 'bob', to: 'alice', amount: 1n, lease: LEASE },
    { from: 'bob', to: 'alice', amount: 1n, lease: LEASE },
  ],
  ['no genesis id', { more: { genesisID: undefined } }],
  ['an amount of 2^64-1', { amount: 2n ** 64n - 1n }],
  ['ALGO of 2^64-1', { asset: null, amount: 2n ** 64n - 1n }],
  ['a rekey to oneself', { rekeyTo: 'alice', amount: 0n }],
]

function signedOnly(by: Label, names = false): Build {
  return async stage => [stage.cast.signed(await stage.transaction({}), by, { names })]
}

const BUILT: Readonly<Record<string, Build>> = {
  'no signature': async stage => [unsigned(await stage.transaction({}))],
  'a signature with a wrong bit': async stage => {
    const signed = await stage.signed()
    signed.sig![3]! ^= 1
    return [signed]
  },
  'another key’s signature': signedOnly('bob'),
  'another key’s signature that names it': signedOnly('bob', true),
  'a signature that names its own sender': signedOnly('alice', true),
  'a multisig payment': async stage => [await stage.signed({ from: 'shared', to: 'alice', amount: 1n })],
  'a multisig payment with one signature of two': async stage => [
    stage.cast.signedByMany(await stage.transaction({ from: 'shared', to: 'alice', amount: 1n }), ['bob']),
  ],
  'a multisig payment with three signatures of two': async stage => [
    stage.cast.signedByMany(await stage.transaction({ from: 'shared', to: 'alice', amount: 1n }), [
      ...(['alice', 'bob', 'carol'] as const),
    ]),
  ],
  'a multisig payment of another account': async stage => [
    stage.cast.signedByMany(await stage.transaction({}), ['alice', 'bob']),
  ],
  'a multisig payment with a wrong signature': async stage => {
    const signed = await stage.signed({ from: 'shared', to: 'alice', amount: 1n })
    signed.msig!.subsig[0]!.s![3]! ^= 1
    return [signed]
  },
  'a multisig of another version': async stage => [
    stage.cast.signedByMany(await stage.transaction({ from: 'shared', to: 'alice' }), ['alice', 'bob'], {
      v: 2,
    }),
  ],
  'no transaction': async () => [],
  '17 transactions': async stage => {
    const group: SignedTransaction[] = []
    for (let at = 0; at < 17; at++) group.push(await stage.signed({ amount: BigInt(at) }))
    return group
  },
  '16 transactions': stage => stage.group(...Array.from({ length: 16 }, () => ({ amount: 1n }))),
  'two transactions without a group': async stage => [await stage.signed(), await stage.signed()],
  'a group without its second member': async stage => (await stage.group({}, {})).slice(0, 1),
  'a group in another order': async stage => (await stage.group({}, {})).reverse(),
  'members of two groups': async stage => [(await stage.group({}, {}))[0]!, (await stage.group({}, {}))[1]!],
  'a second member without the group': async stage => [(await stage.group({}, {}))[0]!, await stage.signed()],
  'one transaction with a group of its own': async stage => {
    const txn = await stage.transaction({})
    bind([txn, await stage.transaction({})])
    return [stage.cast.signed(txn, 'alice')]
  },
  'the same transaction twice in a group': async stage => {
    const [first] = await stage.group({}, {})
    return [first!, first!]
  },
  'the same payment twice, bound': async stage => {
    const one = await stage.transaction({ note: Buffer.from('twice') })
    const two = await stage.transaction({ note: Buffer.from('twice') })
    bind([one, two])
    stage.txIds.push(one.txID())
    return [stage.cast.signed(one, 'alice'), stage.cast.signed(two, 'alice')]
  },
  'the call of an application that is not there': async stage => {
    const txn = await stage.transaction({})
    Object.assign(txn, {
      ...{ type: TransactionType.appl, assetTransfer: undefined },
      applicationCall: {
        ...{ appIndex: 999_999_999n, onComplete: OnApplicationComplete.NoOpOC, appArgs: [], accounts: [] },
        ...{ foreignAssets: [], foreignApps: [], boxes: [], access: [], extraPages: 0, rejectVersion: 0 },
        ...{ numLocalInts: 0, numLocalByteSlices: 0, numGlobalInts: 0, numGlobalByteSlices: 0 },
        ...{ approvalProgram: new Uint8Array(), clearProgram: new Uint8Array() },
      },
    })
    return [stage.cast.signed(txn, 'alice')]
  },
}

function both(name: string, build: Build): Question[] {
  return [
    question(`simulate: ${name}`, async stage => stage.simulate(await build(stage))),
    question(`submit: ${name}`, async stage => stage.land(await build(stage))),
  ]
}

export const refusals: readonly Question[] = [
  ...MOVES.flatMap(([name, ...moves]) => both(name, stage => stage.group(...moves))),
  ...Object.entries(BUILT).flatMap(([name, build]) => both(name, build)),
]
