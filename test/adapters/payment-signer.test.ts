import { describe, expect, it } from 'vitest'
import type { SuggestedParams } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentReader } from '../../src/adapters/algorand/read-payment.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { mnemonicOf, signingKey, signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { MAINNET, PUBLIC_NETWORKS, type PublicNetwork, TESTNET } from '../../src/domain/network.js'
import type { PaymentRequired, PaymentRequirements } from '../../src/domain/x402.js'
import keys from '../vectors/keys.json' with { type: 'json' }
import vectors from '../vectors/payments.json' with { type: 'json' }

const payer = signingKey(Buffer.from(keys.accounts.payer.secretKeyBase64, 'base64'))

/** With which the vectors' client had its window of 10 rounds. */
const WINDOW_OF_TEN_SECONDS = 28

function nodeOn(network: PublicNetwork, changes: Partial<SuggestedParams> = {}) {
  const params: SuggestedParams = {
    lastRound: BigInt(keys.ledgerRound),
    minFeeMicroAlgos: 1_000n,
    feePerByteMicroAlgos: 0n,
    genesisHash: PUBLIC_NETWORKS[network].genesisHash,
    genesisId: PUBLIC_NETWORKS[network].genesisId,
    ...changes,
  }
  const node = {
    asked: 0,
    async suggestedParams() {
      node.asked++
      return params
    },
  }
  return node
}

const challenge = vectors.payments[0]!.paymentRequired as unknown as PaymentRequired
const quoted = challenge.accepts[0]!

describe('a payment is the official client’s, byte for byte', () => {
  for (const vector of vectors.payments) {
    it(vector.name, async () => {
      const network = vector.network as PublicNetwork
      const wanted = vector.paymentRequired as unknown as PaymentRequired
      const signer = algorandPaymentSigner({
        key: payer,
        network: PUBLIC_NETWORKS[network],
        algod: nodeOn(network),
        noteSource: () => String(vector.clockMs),
      })
      const accepted = { ...wanted.accepts[0]!, maxTimeoutSeconds: WINDOW_OF_TEN_SECONDS }
      const signed = await signer.sign(wanted, accepted)
      expect(signed.payload.payload).toEqual(vector.paymentPayload.payload)
      expect(signed.txId).toBe(vector.paymentTxId)
      expect(signed.payload).toEqual({ ...vector.paymentPayload, accepted })
    })
  }
})

describe('a payment', () => {
  it('echoes the quote and copies resource and extensions', async () => {
    const accepted = { ...quoted, extra: { ...quoted.extra, added: { deep: [1] } } }
    const extensions = { bazaar: { info: {} } }
    const { payload } = await signer().sign({ ...challenge, extensions }, accepted)
    expect(payload.accepted).toBe(accepted)
    expect(payload.resource).toBe(challenge.resource)
    expect(payload.extensions).toBe(extensions)
  })

  it('never has the id of another: 50 equal ones in one instant', async () => {
    const signing = signer()
    const signed = await Promise.all(Array.from({ length: 50 }, () => signing.sign(challenge, quoted)))
    expect(new Set(signed.map(({ txId }) => txId)).size).toBe(50)
  })

  it.each([
    [1, 10n],
    [28, 10n],
    [60, 22n],
    [2_800, 1_000n],
    [1e9, 1_000n],
    [Number.NaN, 10n],
  ])('with %d s to be made is valid for %d rounds', async (maxTimeoutSeconds, rounds) => {
    const signed = await signer().sign(challenge, { ...quoted, maxTimeoutSeconds })
    expect(signed.lastValid - signed.firstValid).toBe(rounds)
  })

  it('pays by the byte on a congested network, as the official client does', async () => {
    const signed = await signer({ feePerByteMicroAlgos: 10n }).sign(challenge, quoted)
    const [sponsor] = (signed.payload.payload as { paymentGroup: string[] }).paymentGroup
    const { decodeUnsignedTransaction } = await import('algosdk')
    const fee = decodeUnsignedTransaction(Buffer.from(sponsor!, 'base64')).fee
    const notes = 2 * (32 - '1795220195000'.length)
    expect(fee).toBe(BigInt(4_870 + 10 * notes))
  })

  it('is read back as what was signed', async () => {
    const signed = await signer().sign(challenge, quoted)
    const read = algorandPaymentReader().read(signed.payload)
    expect(read).toMatchObject({
      txId: signed.txId,
      payer: payer.address,
      receiver: quoted.payTo,
      amount: 10_000n,
      asset: quoted.asset,
      genesisHash: TESTNET.genesisHash,
      lastValid: signed.lastValid,
    })
    expect(read?.proven()).toBe(true)
  })
})

describe('nothing is signed', () => {
  it.each([
    [
      'for another network than the key’s',
      { network: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k' },
      'network_mismatch',
    ],
    ['for an unknown network', { network: 'algorand:testnet' }, 'network_mismatch'],
    ['for a false sponsor', { extra: { feePayer: `${payer.address.slice(0, -1)}A` } }, 'unreadable_quote'],
    ['for a false receiver', { payTo: 'A'.repeat(58) }, 'unreadable_quote'],
    ['for an amount with a fraction', { amount: '1.5' }, 'unreadable_quote'],
    ['for nothing', { amount: '0' }, 'unreadable_quote'],
    ['for ALGO', { asset: '0' }, 'unreadable_quote'],
    ['under another scheme', { scheme: 'upto' }, 'unreadable_quote'],
  ] satisfies [string, Partial<PaymentRequirements>, string][])('%s', async (_, changes, code) => {
    await expect(signer().sign(challenge, { ...quoted, ...changes })).rejects.toMatchObject({ code })
  })

  it('on a node of another network', async () => {
    const signing = signer({ genesisHash: MAINNET.genesisHash })
    await expect(signing.sign(challenge, quoted)).rejects.toMatchObject({ code: 'network_mismatch' })
    const misnamed = signer({ genesisId: 'sandnet-v1' }).sign(challenge, quoted)
    await expect(misnamed).rejects.toMatchObject({
      code: 'network_mismatch',
      message: expect.stringContaining("genesis id is 'sandnet-v1', not 'testnet-v1.0'"),
    })
  })

  it('on a node that asks for a fortune in fees', async () => {
    for (const fees of [{ minFeeMicroAlgos: 10n ** 9n }, { feePerByteMicroAlgos: 10n ** 6n }]) {
      for (const extra of [quoted.extra, {}]) {
        await expect(signer(fees).sign(challenge, { ...quoted, extra })).rejects.toMatchObject({
          code: 'fee_too_high',
        })
      }
    }
  })
})

describe('suggested parameters', () => {
  it('are asked for once in a few seconds', async () => {
    const algod = nodeOn('testnet')
    const signing = algorandPaymentSigner({ key: payer, network: TESTNET, algod })
    await Promise.all([signing.sign(challenge, quoted), signing.sign(challenge, quoted)])
    await signing.sign(challenge, quoted)
    expect(algod.asked).toBe(1)
  })

  it('are asked for again after the node has failed', async () => {
    let answers = 0
    const { suggestedParams } = nodeOn('testnet')
    const algod = {
      suggestedParams: () => (answers++ === 0 ? Promise.reject(new Error('down')) : suggestedParams()),
    }
    const signing = algorandPaymentSigner({ key: payer, network: TESTNET, algod })
    await expect(signing.sign(challenge, quoted)).rejects.toThrow('down')
    await expect(signing.sign(challenge, quoted)).resolves.toBeDefined()
  })
})

describe('a key', () => {
  it('is the same by mnemonic, by secret key and by seed', () => {
    const seed = Buffer.from(keys.accounts.payer.seedHex, 'hex')
    const mnemonic = mnemonicOf(seed)
    for (const key of [
      payer,
      signingKeyFromSeed(seed),
      signingKey(mnemonic),
      signingKey(`  ${mnemonic.toUpperCase()}\n`),
    ]) {
      expect(key.address).toBe(keys.accounts.payer.address)
    }
  })

  it('that is wrong says so without repeating it', () => {
    const words = mnemonicOf(Buffer.alloc(32, 7)).split(' ')
    const wrong = [
      words.slice(1),
      [...words.slice(0, 24), 'zoo'],
      ['notaword', ...words.slice(1)],
      [...words, 'zoo'],
    ]
    for (const secret of [...wrong.map(list => list.join(' ')), Buffer.alloc(64, 7), Buffer.alloc(5), '']) {
      const error = thrownBy(() => signingKey(secret))
      expect(error).toMatchObject({ code: 'invalid_key', detail: undefined })
      expect(error).not.toHaveProperty('cause')
      for (const word of ['notaword', 'zoo', words[3]!]) expect(String(error)).not.toContain(word)
    }
  })

  it('shows its secret to no one', async () => {
    const { inspect } = await import('node:util')
    const seed = Buffer.from(keys.accounts.payer.seedHex, 'hex')
    const spellings = [
      seed.toString('hex'),
      seed.toString('base64'),
      seed.join(','),
      JSON.stringify(new Uint8Array(seed)).slice(1, -1),
    ]
    const shows = (value: unknown) => {
      const shown = inspect(value, { depth: 9, showHidden: true }) + JSON.stringify(value)
      return spellings.some(spelling => shown.replace(/\s/g, '').includes(spelling))
    }
    for (const careless of [seed, new Uint8Array(seed), seed.toString('hex')]) {
      expect(shows({ careless }), 'it would be noticed').toBe(true)
    }
    expect(shows(payer)).toBe(false)
  })
})

function signer(changes: Partial<SuggestedParams> = {}) {
  return algorandPaymentSigner({ key: payer, network: TESTNET, algod: nodeOn('testnet', changes) })
}

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
}
