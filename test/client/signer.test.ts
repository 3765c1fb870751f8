/** Keys that are elsewhere: a key service signs bytes, a wallet signs transactions; neither is believed. */
import { decodeUnsignedTransaction } from 'algosdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeAssetPayment, encodeSponsorship } from '../../src/adapters/algorand/build-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { signedBytes, textToSign } from '../../src/adapters/algorand/transaction-hashes.js'
import * as browser from '../../src/adapters/platform/browser.js'
import { sha512_256, verifySignature } from '../../src/adapters/platform/node.js'
import { type GroupSigner, type Signer, SvcClient } from '../../src/client.js'
import { fromBase64, textOf, textToBase64, toBase64 } from '../../src/domain/bytes.js'
import { honest, marketForFile, PRICE } from './market.js'

const market = marketForFile()

function payerWith(make: (address: string, sign: (bytes: Uint8Array) => Uint8Array) => Signer) {
  const { address, mnemonic } = market.sandbox.accounts(`signer ${++payers}`)
  const signer = make(address, signingKey(mnemonic).sign)
  const client = new SvcClient({ signer, network: 'testnet', algodUrl: market.sandbox.algodUrl })
  const before = market.sandbox.balance(address).usdc!
  return { client, address, spent: () => before - market.sandbox.balance(address).usdc! }
}
let payers = 0

/** A wallet that behaves, or as `answer` says. */
function wallet(
  address: string,
  sign: (bytes: Uint8Array) => Uint8Array,
  answer: (signed: Uint8Array, at: number) => (Uint8Array | null)[] = (signed, at) => [
    ...Array<null>(at).fill(null),
    signed,
  ],
): GroupSigner {
  return {
    address,
    async signTransactions(transactions, [at]) {
      const payment = transactions[at!]!
      return answer(signedBytes(payment, sign(textToSign(payment))), at!)
    },
  }
}

describe('a signer of bytes', () => {
  it('pays, at once or later', async () => {
    const seller = await market.seller(honest)
    for (const later of [false, true]) {
      const { client, address, spent } = payerWith((address, sign) => ({
        address,
        sign: bytes => (later ? Promise.resolve(sign(bytes)) : sign(bytes)),
      }))
      await client.call(seller.url)
      expect(client.address).toBe(address)
      expect(spent()).toBe(PRICE)
    }
  })

  for (const [what, sign] of [
    ['nothing', () => undefined],
    ['text', () => 'signature'],
    ['too little', () => new Uint8Array(63)],
    ['zeros', () => new Uint8Array(64)],
    ['a refusal', () => Promise.reject(new Error('the person said no'))],
  ] as const) {
    it(`that answers ${what} pays nothing`, async () => {
      const seller = await market.seller(honest)
      const { client, spent } = payerWith(address => ({ address, sign: sign as never }))
      await expect(client.call(seller.url)).rejects.toThrow()
      expect(seller.paid()).toHaveLength(0)
      expect(client.spentToday).toBe(0)
      expect(spent()).toBe(0n)
    })
  }

  it('may be made to wait for a person: the caller’s signal ends that', async () => {
    const seller = await market.seller(honest)
    const stop = new AbortController()
    const { client } = payerWith(address => ({
      address,
      sign: () => {
        stop.abort()
        return new Promise<Uint8Array>(() => {})
      },
    }))
    await expect(client.call(seller.url, {}, { signal: stop.signal })).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(client.spentToday).toBe(0)
    expect(seller.paid()).toHaveLength(0)
  })
})

describe('a wallet', () => {
  it('is shown the whole group, and signs the payment in it', async () => {
    const seller = await market.seller(honest)
    const shown: string[] = []
    const { client, spent } = payerWith((address, sign) => {
      const { signTransactions } = wallet(address, sign)
      return {
        address,
        signTransactions(transactions, indexes) {
          shown.push(...transactions.map(bytes => decodeUnsignedTransaction(bytes).type), String(indexes))
          return signTransactions(transactions, indexes)
        },
      }
    })
    await client.call(seller.url)
    expect(shown).toEqual(['pay', 'axfer', '1'])
    expect(spent()).toBe(PRICE)
  })

  it('may leave out what it did not sign', async () => {
    const seller = await market.seller(honest)
    const { client, spent } = payerWith((address, sign) => wallet(address, sign, signed => [signed]))
    await client.call(seller.url)
    expect(spent()).toBe(PRICE)
  })

  for (const [what, answer] of [
    ['nothing', () => []],
    ['the transaction unsigned', (signed: Uint8Array) => [null, signed.subarray(75)]],
    [
      'another transaction',
      (signed: Uint8Array) => [null, signed.map((byte, at) => (at === 200 ? byte ^ 1 : byte))],
    ],
    [
      'a changed signature',
      (signed: Uint8Array) => [null, signed.map((byte, at) => (at === 20 ? byte ^ 1 : byte))],
    ],
    ['more than it was asked', (signed: Uint8Array) => [null, Uint8Array.of(...signed, 0)]],
  ] as const) {
    it(`that answers ${what} pays nothing`, async () => {
      const seller = await market.seller(honest)
      const { client } = payerWith((address, sign) => wallet(address, sign, answer as never))
      await expect(client.call(seller.url)).rejects.toMatchObject({ code: 'invalid_key' })
      expect(seller.paid()).toHaveLength(0)
      expect(client.spentToday).toBe(0)
    })
  }
})

describe('a signer that is no friend', () => {
  it('and writes into the transactions that it is shown pays nothing', async () => {
    const seller = await market.seller(honest)
    const { client, spent } = payerWith((address, sign) => ({
      address,
      async signTransactions(transactions, [at]) {
        const payment = transactions[at!]!
        // The amount of $0.01, in msgpack.
        const amount = Buffer.from(payment).indexOf(Buffer.from('a461616d74cd2710', 'hex'))
        payment.set([0xff, 0xff], amount + 6)
        return transactions.map((each, index) =>
          index === at ? signedBytes(each, sign(textToSign(each))) : null,
        )
      },
    }))
    await expect(client.call(seller.url)).rejects.toMatchObject({ code: 'invalid_key' })
    expect(seller.paid()).toEqual([])
    expect(spent()).toBe(0n)
  })

  it('and is silent is waited for as long as an answer, and leaves its room', async () => {
    const seller = await market.seller(honest)
    const { address } = market.sandbox.accounts('silent')
    const sign = () => new Promise<Uint8Array>(() => {})
    const { algodUrl } = market.sandbox
    const options = { network: 'testnet', algodUrl, timeoutMs: 2_000, maxPerDay: '$0.01' } as const
    const client = new SvcClient({ signer: { address, sign }, ...options })
    await expect(client.call(seller.url)).rejects.toMatchObject({
      code: 'signer_timeout',
      message: 'The signer did not answer within 2000 ms; nothing was paid',
    })
    expect(client.remainingToday).toBe(0.01)
    expect(seller.paid()).toEqual([])
  })
})

describe('options', () => {
  const address = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
  for (const [code, options] of [
    ['invalid_options', { signer: { address } }],
    ['invalid_options', { signer: () => {} }],
    ['invalid_key', { signer: { address: 'me', sign() {} } }],
    ['invalid_options', { signer: { address, sign() {} }, mnemonic: 'words' }],
  ] as const) {
    it(`${code}: ${Object.keys(options)}`, () => {
      expect(() => new SvcClient(options as never)).toThrow(expect.objectContaining({ code }))
    })
  }
})

describe('what browsers compute', () => {
  const bytes = fc.uint8Array({ maxLength: 400 })

  it('is what Node computes', () => {
    const key = signingKey(market.sandbox.wallet.mnemonic)
    fc.assert(
      fc.property(bytes, text => {
        expect(Buffer.from(browser.sha512_256(text))).toEqual(Buffer.from(sha512_256(text)))
        const signature = new Uint8Array(key.sign(text))
        const forged = signature.map((byte, at) => (at === text.length % 64 ? byte ^ 4 : byte))
        for (const { verifySignature: verify } of [browser, { verifySignature }]) {
          expect(verify(key.publicKey, text, signature)).toBe(true)
          expect(verify(key.publicKey, text, forged)).toBe(false)
          expect(verify(key.publicKey, text, signature.subarray(1))).toBe(false)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('base64 goes both ways', () => {
    const ways = fc.property(bytes, fc.string({ unit: 'grapheme' }), (given, text) => {
      expect([...fromBase64(toBase64(given))]).toEqual([...given])
      expect(textOf(fromBase64(textToBase64(text)))).toBe(text)
    })
    fc.assert(ways)
  })

  it('encodes the two transactions as algosdk does', () => {
    const uint = (bits: number) =>
      fc.integer({ min: 0, max: bits }).chain(size => fc.bigInt({ min: 0n, max: 2n ** BigInt(size) - 1n }))
    const zero = fc.constant(new Uint8Array(32))
    const key = fc.oneof(zero, fc.uint8Array({ minLength: 32, maxLength: 32 }))
    // Rounds and fees are within what algosdk takes as numbers.
    const common = fc.record({
      network: fc.record({
        genesisId: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 128 }),
        genesisHashBytes: fc.uint8Array({ minLength: 32, maxLength: 32 }),
      }),
      sender: key,
      feeMicroAlgos: uint(50),
      firstValid: uint(40),
      lastValid: uint(40),
      note: fc.string({ unit: 'binary', maxLength: 256 }),
      group: fc.option(key, { nil: undefined }),
    })
    const terms = fc.record({ receiver: key, assetId: uint(64), amount: uint(64) })
    fc.assert(
      fc.property(common, terms, (shared, asked) => {
        for (const encoded of [encodeSponsorship(shared), encodeAssetPayment({ ...shared, ...asked })]) {
          expect(Buffer.from(decodeUnsignedTransaction(encoded).toByte())).toEqual(Buffer.from(encoded))
        }
        const { assetTransfer, fee, note } = decodeUnsignedTransaction(
          encodeAssetPayment({ ...shared, ...asked }),
        )
        expect(assetTransfer).toMatchObject({ amount: asked.amount, assetIndex: asked.assetId })
        expect(fee).toBe(shared.feeMicroAlgos)
        expect(Buffer.from(note).toString()).toBe(shared.note)
      }),
    )
  })
})
