/** Who signed a payment: the sender's own key, or enough keys of a multisig sender. algosdk builds and verifies as the other side. */
import { createHash } from 'node:crypto'
import algosdk, { Address, encodeMsgpack, SignedTransaction, type Transaction } from 'algosdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verifySignature } from '#platform'
import { keyPairFromSeed } from '../../src/adapters/algorand/ed25519-and-mnemonic.js'
import { algorandPaymentReader } from '../../src/adapters/algorand/read-payment.js'
import * as browser from '../../src/adapters/platform/browser.js'
import { paramsOf, USDC } from '../support/wallet-groups.js'
import payments from '../vectors/payments.json' with { type: 'json' }

const KEYS = Array.from({ length: 17 }, (_, at) => keyPairFromSeed(Buffer.alloc(32, at + 1)))
const SELLER = new Address(Buffer.alloc(32, 99))

const TEXT = Buffer.from('MXa text')
const signatureOf = (at: number) => Buffer.from(KEYS[at]!.sign(TEXT)).toString('base64')

interface Multisig {
  readonly v: number
  readonly thr: number
  readonly subsig: { pk: Uint8Array; s?: Uint8Array }[]
}

/** The account of the keys with these numbers, and its payment, signed by some of them. */
function multisigOf(numbers: readonly number[], thr: number, signing: readonly number[]) {
  const subkeys = numbers.map(number => KEYS[number]!)
  const addrs = subkeys.map(({ publicKey }) => new Address(publicKey))
  const txn = paymentOf(algosdk.multisigAddress({ version: 1, threshold: thr, addrs }))
  const subsig = subkeys.map(({ publicKey, sign }, at) => ({
    pk: publicKey,
    ...(signing.includes(at) && { s: new Uint8Array(sign(txn.bytesToSign())) }),
  }))
  return { txn, msig: { v: 1, thr, subsig } }
}

function paymentOf(sender: Address): Transaction {
  return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    sender,
    receiver: SELLER,
    amount: 10_000,
    assetIndex: USDC,
    suggestedParams: paramsOf({ firstValid: 1, lastValid: 1_000 }),
  })
}

type Signed = ConstructorParameters<typeof SignedTransaction>[0]

function readingOf(signed: Signed | Uint8Array) {
  const bytes = signed instanceof Uint8Array ? signed : encodeMsgpack(new SignedTransaction(signed))
  const paymentGroup = [Buffer.from(bytes).toString('base64')]
  return algorandPaymentReader().read({ payload: { paymentGroup, paymentIndex: 0 } })!
}

function isProven(signed: Signed): boolean {
  return readingOf(signed).proven()
}

/** Any multisig of some of the keys, with as many signatures as it needs, or more. */
const anyMultisig = fc
  .shuffledSubarray([...KEYS.keys()], { minLength: 1, maxLength: 16 })
  .chain(numbers =>
    fc
      .integer({ min: 1, max: numbers.length })
      .chain(thr =>
        fc
          .shuffledSubarray([...numbers.keys()], { minLength: thr })
          .map(signing => ({ numbers, thr, signing })),
      ),
  )

function changed(msig: Multisig, at: number, over: object): Multisig {
  return { ...msig, subsig: msig.subsig.map((one, other) => (other === at ? { ...one, ...over } : one)) }
}

describe('a multisig of the sender', () => {
  it('is proven as algosdk builds and verifies it, by as many keys as it needs', () => {
    const { sks, addrs } = accounts(3)
    const params = { version: 1, threshold: 2, addrs }
    const txn = paymentOf(algosdk.multisigAddress(params))
    const one = algosdk.signMultisigTransaction(txn, params, sks[0]!).blob
    const two = algosdk.appendSignMultisigTransaction(one, params, sks[2]!).blob
    expect(readingOf(one).proven()).toBe(false)
    const read = readingOf(two)
    expect(read).toMatchObject({ payer: txn.sender.toString() })
    expect(read.proven()).toBe(true)
    const { msig } = algosdk.decodeSignedTransaction(two)
    expect(algosdk.verifyMultisig(txn.bytesToSign(), msig!, txn.sender.publicKey)).toBe(true)
  })

  it('whatever keys, threshold and signatures it has', () => {
    fc.assert(
      fc.property(anyMultisig, ({ numbers, thr, signing }) => {
        expect(isProven(multisigOf(numbers, thr, signing))).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('with one bit of a subsignature or a subkey turned is not proven, also beyond the threshold', () => {
    fc.assert(
      fc.property(anyMultisig, fc.nat(15), fc.nat(95), fc.nat(7), (chosen, which, byte, bit) => {
        const { txn, msig } = multisigOf(chosen.numbers, chosen.thr, chosen.signing)
        const at = chosen.signing[which % chosen.signing.length]!
        const { pk, s } = msig.subsig[at]!
        const [field, place] = byte < 64 ? (['s', byte] as const) : (['pk', byte - 64] as const)
        const bytes = new Uint8Array({ pk, s: s! }[field])
        bytes[place]! ^= 1 << bit
        expect(isProven({ txn, msig: changed(msig, at, { [field]: bytes }) })).toBe(false)
      }),
      { numRuns: 150 },
    )
  })

  it('with fewer signatures than its threshold is not proven', () => {
    fc.assert(
      fc.property(anyMultisig, fc.nat(15), ({ numbers, thr, signing }, fewer) => {
        expect(isProven(multisigOf(numbers, thr, signing.slice(0, fewer % thr)))).toBe(false)
      }),
      { numRuns: 60 },
    )
  })

  it('of another account, another version, or with a threshold that cannot be is not proven', () => {
    const { txn, msig } = multisigOf([0, 1, 2], 2, [0, 1, 2])
    expect(isProven({ txn, msig })).toBe(true)
    expect(isProven({ txn, msig: multisigOf([0, 1, 3], 2, [0, 1, 2]).msig })).toBe(false)
    for (const over of [{ v: 0 }, { v: 2 }, { v: 257 }, { thr: 0 }, { thr: 1 }, { thr: 3 }, { thr: 258 }])
      expect(isProven({ txn, msig: { ...msig, ...over } })).toBe(false)
    expect(isProven({ txn, msig: { ...msig, subsig: msig.subsig.slice(0, 2) } })).toBe(false)
    // Accounts whose own parameters no ledger takes: 0 of 2 and 3 of 2.
    for (const thr of [0, 3]) {
      const preimage = [
        Buffer.from('MultisigAddr'),
        Buffer.of(1, thr),
        KEYS[0]!.publicKey,
        KEYS[1]!.publicKey,
      ]
      const sender = new Address(hashOf(Buffer.concat(preimage)))
      const own = paymentOf(sender)
      const subsig = [KEYS[0]!, KEYS[1]!].map(({ publicKey, sign }) => ({
        pk: publicKey,
        s: new Uint8Array(sign(own.bytesToSign())),
      }))
      expect(isProven({ txn: own, msig: { v: 1, thr, subsig } })).toBe(false)
    }
  })

  it('that names a key twice is not proven: one signature would count for two', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 16 }), keys => {
        const numbers = Array.from({ length: keys }, (_, at) => Math.max(0, at - 1))
        const all = [...numbers.keys()]
        expect(isProven(multisigOf(numbers, 2, all))).toBe(false)
        expect(isProven(multisigOf(numbers, keys, all))).toBe(false)
      }),
      { numRuns: 20 },
    )
  })

  it('of 16 keys is proven, of 17 not', () => {
    const all = [...KEYS.keys()]
    expect(isProven(multisigOf(all.slice(1), 16, all.slice(1)))).toBe(false)
    expect(isProven(multisigOf(all.slice(1), 16, all.slice(0, 16)))).toBe(true)
    expect(isProven(multisigOf(all, 1, [0]))).toBe(false)
    expect(isProven(multisigOf(all, 17, all))).toBe(false)
  })
})

describe('not proven here', () => {
  const { publicKey, sign } = KEYS[0]!
  const txn = paymentOf(new Address(publicKey))
  const sig = new Uint8Array(sign(txn.bytesToSign()))

  it('an account that names another key for its signature, whoever signed', () => {
    expect(isProven({ txn, sig })).toBe(true)
    const by = KEYS[1]!
    const sgnr = new Address(by.publicKey)
    const others = { txn, sgnr, sig: new Uint8Array(by.sign(txn.bytesToSign())) }
    for (const signed of [others, { txn, sgnr, sig }, { txn, sgnr: txn.sender, sig }]) {
      expect(isProven(signed)).toBe(false)
      // A stranger can put its own key and signature around a payment that landed: its id stays the same.
      expect(readingOf(signed).txId).toBe(txn.txID())
      expect(readingOf(signed).isSignedByPayer(TEXT, signatureOf(0))).toBe(false)
    }
    const many = multisigOf([0, 1], 1, [0])
    expect(isProven({ ...many, sgnr })).toBe(false)
  })

  it('a program and a post-quantum signature', () => {
    const lsig = new algosdk.LogicSig(Buffer.of(1, 0x20, 1, 1, 0x22))
    const program = { txn: paymentOf(lsig.address()), lsig }
    const pqsig = { sch: Buffer.from('f5'), slt: 0, pk: Buffer.alloc(897, 1), sig: Buffer.alloc(600, 1) }
    for (const signed of [program, { txn, pqsig }] as unknown as Signed[]) {
      const read = readingOf(signed)
      expect(read.proven()).toBe(false)
      expect(read.isSignedByPayer(TEXT, signatureOf(0))).toBe(false)
      expect(read.wrapperDigest).toMatch(/^[\w-]{43}$/)
    }
  })

  // R is the base point and s is 1: right for every text where the key is a point of small order whose multiple vanishes.
  const forAnyText = Buffer.from(`58${'66'.repeat(31)}01${'00'.repeat(31)}`, 'hex')
  const one = (first: string, last: string) => Buffer.from(`${first}${'00'.repeat(30)}${last}`, 'hex')
  const near = (first: string, last: string) => Buffer.from(`${first}${'ff'.repeat(30)}${last}`, 'hex')
  const order8 = [
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ].map(hex => Buffer.from(hex, 'hex'))
  const SMALL = [one('01', '00'), one('00', '00'), one('00', '80'), near('ec', '7f'), ...order8]
  const MISSPELT = [
    one('01', '80'),
    near('ec', 'ff'),
    near('ed', '7f'),
    near('ed', 'ff'),
    near('ee', '7f'),
    near('ee', 'ff'),
  ]

  it.each([...SMALL, ...MISSPELT].map(key => [key.toString('hex'), key] as const))(
    'a signature by the key %s, of small order or spelt otherwise',
    (_, key) => {
      // A key of order 8 is right for one text in eight.
      for (let note = 0; note < 40; note++) {
        const payment = paymentOf(new Address(key))
        const text = Buffer.concat([payment.bytesToSign(), Buffer.of(note)])
        expect(verifySignature(key, text, forAnyText)).toBe(false)
      }
      expect(isProven({ txn: paymentOf(new Address(key)), sig: forAnyText })).toBe(false)
      expect(browser.verifySignature(key, paymentOf(new Address(key)).bytesToSign(), forAnyText)).toBe(false)
      const addrs = [new Address(key), new Address(publicKey)]
      const sender = algosdk.multisigAddress({ version: 1, threshold: 1, addrs })
      const subsig = [{ pk: key, s: forAnyText }, { pk: publicKey }]
      expect(isProven({ txn: paymentOf(sender), msig: { v: 1, thr: 1, subsig } })).toBe(false)
    },
  )
})

describe('the key and the digest', () => {
  const { publicKey, sign } = KEYS[0]!
  const txn = paymentOf(new Address(publicKey))
  const plain = { txn, sig: new Uint8Array(sign(txn.bytesToSign())) }

  it('the key is the sender’s, of a plain signature alone', () => {
    expect(readingOf(plain).isSignedByPayer(TEXT, signatureOf(0))).toBe(true)
    expect(readingOf(plain).isSignedByPayer(TEXT, signatureOf(1))).toBe(false)
    expect(readingOf(plain).isSignedByPayer(Buffer.from('another text'), signatureOf(0))).toBe(false)
    expect(readingOf(plain).isSignedByPayer(TEXT, 'no signature')).toBe(false)
    for (const { paymentPayload } of payments.payments)
      expect(algorandPaymentReader().read(paymentPayload)!.isSignedByPayer(TEXT, signatureOf(0))).toBe(false)
  })

  it('the digest is of the canonical bytes, whatever encoding came, before and after the proof', () => {
    for (const signed of [plain, multisigOf([0, 1, 2], 2, [0, 2])]) {
      const bytes = Buffer.from(encodeMsgpack(new SignedTransaction(signed)))
      const digest = hashOf256(bytes)
      expect(readingOf(bytes).wrapperDigest).toBe(digest)
      // One entry more, which nobody knows: decoders drop it.
      const longer = Buffer.concat([
        Buffer.of(bytes[0]! + 1),
        bytes.subarray(1),
        Buffer.from('a37a7a7a01', 'hex'),
      ])
      const reader = algorandPaymentReader()
      const sent = () => ({ payload: { paymentGroup: [longer.toString('base64')], paymentIndex: 0 } })
      const read = reader.read(sent())!
      expect([read.proven(), read.wrapperDigest]).toEqual([true, digest])
      const remembered = reader.read(sent())!
      expect([remembered.proven(), remembered.wrapperDigest]).toEqual([true, digest])
    }
  })

  it('another signature of the same payment has another digest', () => {
    const many = multisigOf([0, 1, 2], 2, [0, 1])
    const digests = [
      plain,
      { txn, sig: new Uint8Array(64).fill(1) },
      { ...plain, sgnr: new Address(KEYS[1]!.publicKey) },
      { txn, msig: many.msig },
      { txn, msig: changed(many.msig, 2, { s: new Uint8Array(64).fill(2) }) },
      { txn, msig: { ...many.msig, thr: 1 } },
    ].map(signed => readingOf(signed).wrapperDigest)
    expect(new Set(digests).size).toBe(digests.length)
  })
})

function accounts(count: number) {
  const all = KEYS.slice(0, count).map((_, at) =>
    algosdk.mnemonicToSecretKey(algosdk.secretKeyToMnemonic(Buffer.alloc(32, at + 1))),
  )
  return { sks: all.map(({ sk }) => sk), addrs: all.map(({ addr }) => addr) }
}

function hashOf(bytes: Uint8Array): Buffer {
  return createHash('sha512-256').update(bytes).digest()
}

function hashOf256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url')
}
