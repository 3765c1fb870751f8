/** Browsers': their own ed25519 is missing in some, and answers later in all. */
import { ed25519 } from '@noble/curves/ed25519'
import { sha512_256 as hash } from '@noble/hashes/sha2'
import type { Primitives } from '../../ports/primitives.js'

export const sha512_256: Primitives['sha512_256'] = hash

export const verifySignature: Primitives['verifySignature'] = (publicKey, bytes, signature) => {
  try {
    // RFC 8032 to the letter, as OpenSSL verifies.
    return ed25519.verify(signature, bytes, publicKey, { zip215: false })
  } catch {
    return false
  }
}
