/** Signing keys: a key pair, and the address that it signs for. */
import { encodeAddress } from './address.js'
import { type KeyPair, keyPairFromSecret, keyPairFromSeed, wordsOfSeed } from './key-pairs.js'

export { verifySignature } from '#platform'
export { decodeAddress, encodeAddress, isValidAddress } from './address.js'

/** Signs for one address. */
export interface SigningKey extends KeyPair {
  readonly address: string
}

/**
 * Reads the key of a 25-word mnemonic, or of a 64-byte secret key (seed, then public key).
 *
 * @throws SvcError `invalid_key`
 */
export function signingKey(secret: string | Uint8Array): SigningKey {
  return withAddress(keyPairFromSecret(secret))
}

export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  return withAddress(keyPairFromSeed(seed))
}

/** The 25 words of a 32-byte seed. */
export function mnemonicOf(seed: Uint8Array): string {
  return wordsOfSeed(seed).join(' ')
}

function withAddress({ publicKey, sign }: KeyPair): SigningKey {
  return Object.freeze({ address: encodeAddress(publicKey), publicKey, sign })
}
