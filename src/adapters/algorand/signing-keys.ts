import { encodeAddress } from './address.js'
import { type KeyPair, keyPairFromSecret, keyPairFromSeed, wordsOfSeed } from './ed25519-and-mnemonic.js'

export interface SigningKey extends KeyPair {
  readonly address: string
}

export function signingKey(secret: string | Uint8Array): SigningKey {
  return withAddress(keyPairFromSecret(secret))
}

export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  return withAddress(keyPairFromSeed(seed))
}

export function mnemonicOf(seed: Uint8Array): string {
  return wordsOfSeed(seed).join(' ')
}

function withAddress({ publicKey, sign }: KeyPair): SigningKey {
  return Object.freeze({ address: encodeAddress(publicKey), publicKey, sign })
}
