/**
 * What browsers do in their own way; each name is described in the file for Node. Their own ed25519 is missing in some
 * browsers, and asynchronous in all, so signatures are verified in JavaScript (`@noble/ed25519`, which is `@noble/curves` cut down to
 * one curve: a page loads 6 kB less).
 */
import { etc, verify } from '@noble/ed25519'
import { sha512_256 as hash, sha512 } from '@noble/hashes/sha2'
import { SdkError } from '../../domain/errors.js'
import { wakefulClock } from '../../ports/clock.js'
import { fetchExchange } from '../outbound/fetch-exchange.js'

etc.sha512Sync = (...parts) => sha512(etc.concatBytes(...parts))

/** In a browser the key stays in a wallet. */
export type KeyOptions = object

/** @throws SvcError `invalid_options` for any key */
export function keyPairOf(
  options: KeyOptions,
): { readonly publicKey: Uint8Array; sign(bytes: Uint8Array): Uint8Array } | undefined {
  if ('mnemonic' in options || 'secretKey' in options)
    throw new SdkError('SvcClient: in a browser keys stay in a wallet: give a signer', 'invalid_options')
  return undefined
}

/** Pages have no environment. */
export function sandboxUrl(): string | undefined {
  return undefined
}

/** The console shows errors as it does. */
export function endingInOneLine<E extends Error>(error: E, _entry: unknown): E {
  return error
}

export function warn(message: string, _code: string): void {
  console.warn(message)
}

/** None of our own: the browser decides which addresses a page may reach. */
export const guardedFetch: typeof fetch | undefined = undefined

export function sha512_256(bytes: Uint8Array): Uint8Array {
  return hash(bytes)
}

export function verifySignature(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  try {
    // RFC 8032 to the letter, as OpenSSL verifies.
    return verify(signature, bytes, publicKey, { zip215: false })
  } catch {
    return false
  }
}

/** Pages answer nobody. */
export const turns = () => (): undefined => undefined

export const exchangeTo = fetchExchange(wakefulClock, { credentials: 'omit' })

export const globalFetch: typeof fetch = (input, init) => globalThis.fetch(input, init)
