/**
 * Signing keys, by node:crypto: algosdk's own ed25519 takes 5 ms to sign, on the only thread there is; node's takes 0.05.
 */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { mnemonicFromSeed, seedFromMnemonic } from 'algosdk'
import { SdkError, type SvcError } from '../../domain/errors.js'
import { encodeAddress } from './address.js'

export { verifySignature } from '#primitives'
export { decodeAddress, encodeAddress, isValidAddress } from './address.js'

const SEED_BYTES = 32
const SECRET_KEY_BYTES = 64
const MNEMONIC_WORDS = 25

/** DER prefixes of an ed25519 key: PKCS #8 before a seed, SPKI before a public key. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** Signs for one address. No property, JSON or inspection shows the secret. */
export interface SigningKey {
  readonly address: string
  readonly publicKey: Uint8Array
  sign(bytes: Uint8Array): Uint8Array
}

/**
 * Reads the key of a 25-word mnemonic, or of a 64-byte secret key (seed, then public key).
 *
 * @throws SvcError `invalid_key`. Its message describes the expected form and quotes nothing of the input.
 */
export function signingKey(secret: string | Uint8Array): SigningKey {
  return typeof secret === 'string' ? keyFromMnemonic(secret) : keyFromSecretKey(secret)
}

export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  if (!(seed instanceof Uint8Array) || seed.length !== SEED_BYTES) throw invalidKey('A seed has 32 bytes')
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI.length)
  return Object.freeze({
    address: encodeAddress(publicKey),
    publicKey: new Uint8Array(publicKey),
    sign: (bytes: Uint8Array) => sign(null, bytes, privateKey),
  })
}

/** The 25 words of a 32-byte seed. */
export function mnemonicOf(seed: Uint8Array): string {
  if (seed.length !== SEED_BYTES) throw invalidKey('A seed has 32 bytes')
  return mnemonicFromSeed(seed)
}

function keyFromMnemonic(mnemonic: string): SigningKey {
  const words = mnemonic.trim().toLowerCase().split(/\s+/)
  if (words.length !== MNEMONIC_WORDS) {
    throw invalidKey(`A mnemonic has ${MNEMONIC_WORDS} words, not ${words.length}`)
  }
  let seed: Uint8Array
  try {
    seed = seedFromMnemonic(words.join(' '))
  } catch {
    // The cause is dropped, because it may quote the words.
    throw invalidKey(
      'The mnemonic has a word that is not in the list, or its last word does not match the others',
    )
  }
  return signingKeyFromSeed(seed)
}

function keyFromSecretKey(secretKey: Uint8Array): SigningKey {
  if (!(secretKey instanceof Uint8Array) || secretKey.length !== SECRET_KEY_BYTES) {
    throw invalidKey(`A secret key is ${SECRET_KEY_BYTES} bytes, or a mnemonic of ${MNEMONIC_WORDS} words`)
  }
  const key = signingKeyFromSeed(secretKey.subarray(0, SEED_BYTES))
  if (Buffer.compare(key.publicKey, secretKey.subarray(SEED_BYTES)) === 0) return key
  throw invalidKey('The two halves of the secret key do not belong together')
}

function invalidKey(message: string): SvcError {
  return new SdkError(message, 'invalid_key')
}
