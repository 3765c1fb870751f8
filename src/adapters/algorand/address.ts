/**
 * An address is base32 of a 32-byte public key and the last 4 bytes of its SHA-512/256.
 *
 * @see https://developer.algorand.org/docs/get-details/encoding/#address
 */
import { sha512_256 } from '#platform'
import { concatBytes, equalBytes } from '../../domain/bytes.js'
import { isAddress } from '../../domain/strangers-text.js'
import { decodeBase32, encodeBase32 } from './base32.js'

export const PUBLIC_KEY_BYTES = 32
const CHECKSUM_BYTES = 4

export function encodeAddress(publicKey: Uint8Array): string {
  return encodeBase32(concatBytes([publicKey, checksumOf(publicKey)]))
}

/** The public key of an address; `undefined` where the text is no address or its checksum is wrong. */
export function decodeAddress(address: unknown): Uint8Array | undefined {
  const bytes = isAddress(address) ? decodeBase32(address) : undefined
  const publicKey = bytes?.subarray(0, PUBLIC_KEY_BYTES)
  return bytes && publicKey && equalBytes(checksumOf(publicKey), bytes.subarray(PUBLIC_KEY_BYTES))
    ? publicKey
    : undefined
}

export function isValidAddress(address: unknown): address is string {
  return decodeAddress(address) !== undefined
}

function checksumOf(publicKey: Uint8Array): Uint8Array {
  return sha512_256(publicKey).subarray(-CHECKSUM_BYTES)
}
