/**
 * What Node does with its own modules, and Bun, Deno and Workers with the same modules.
 *
 * OpenSSL verifies an ed25519 signature in 0.12 ms; algosdk's own takes 12 ms, on the only thread there is.
 */
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { SdkError } from '../../domain/errors.js'
import { type KeyPair, keyPairFromSecret, SPKI } from '../algorand/ed25519-and-mnemonic.js'

/** The paying account's key, where the program holds it. */
export interface KeyOptions {
  /** The paying account's 25 words. Neither they nor the secret key are kept in any property, message or log. */
  readonly mnemonic?: string
  /** The paying account's secret key, 64 bytes; instead of a mnemonic. */
  readonly secretKey?: Uint8Array
}

/** @throws SvcError `invalid_key`; `invalid_options` for more than one that signs */
export function keyPairOf(options: KeyOptions & { readonly signer?: unknown }): KeyPair | undefined {
  const { mnemonic, secretKey, signer } = options
  if ([mnemonic, secretKey, signer].filter(one => one !== undefined).length > 1)
    throw new SdkError('SvcClient: give one of mnemonic, secretKey and signer', 'invalid_options')
  const secret = mnemonic ?? secretKey
  return secret === undefined ? undefined : keyPairFromSecret(secret)
}

/** The sandbox that the environment names. */
export function sandboxUrl(): string | undefined {
  return process.env.SVC_SANDBOX || undefined
}

const ending = new WeakSet<object>()
let isWatching = false

/**
 * Has this error, where nothing catches it, end the program in one line: what is wrong, and the line of the user's that called `entry`.
 */
export function endingInOneLine<E extends Error>(error: E, entry: (...given: never) => unknown): E {
  Error.captureStackTrace?.(error, entry)
  if (!isWatching) process.on?.('uncaughtExceptionMonitor', endInOneLine)
  isWatching = true
  ending.add(error)
  return error
}

function endInOneLine(error: Error & { readonly code?: string }): void {
  if (!ending.has(error) || process.listenerCount('uncaughtException') > 0) return
  const frame = error.stack?.split('\n').find(line => /^ +at (?!.*node:)/.test(line))
  console.error(`${error.message} (${error.code}${frame ? `, ${frame.trim()}` : ''})`)
  process.exit(1)
}

export function warn(message: string, code: string): void {
  process.emitWarning(message, { code })
}

/** Asks for the digest as text: a digest as bytes has an ArrayBuffer of its own, and collecting those takes longer than hashing. */
export function sha512_256(bytes: Uint8Array): Buffer {
  return Buffer.from(hash('sha512-256', bytes, 'binary'), 'binary')
}

const SIGNATURE_BYTES = 64

// The payers of a busy hour come back; an entry is about 300 bytes and saves 20 to 120 µs.
const publicKeys = new LRUCache<string, KeyObject>({ max: 1_000, memoMethod: soundKey })

/** Whether the key made this ed25519 signature over these bytes. False, never an exception, for malformed input. */
export function verifySignature(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false
  try {
    return verify(null, bytes, publicKeys.memo(Buffer.from(publicKey).toString('latin1')), signature)
  } catch {
    return false
  }
}

/**
 * The keys of small order, without the sign in the last bit: anyone can sign in their name, and OpenSSL takes them. Algorand's
 * ledger and browsers refuse them.
 */
const SMALL_ORDER = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])

/** From this number on (2^255 - 19), a key is a second spelling of another. */
const FIELD = 2n ** 255n - 19n

function isSound(publicKey: Uint8Array): boolean {
  const unsigned = Buffer.from(publicKey)
  unsigned[unsigned.length - 1]! &= 0x7f
  if (SMALL_ORDER.has(unsigned.toString('hex'))) return false
  return BigInt(`0x${unsigned.reverse().toString('hex')}`) < FIELD
}

function soundKey(name: string): KeyObject {
  const publicKey = Buffer.from(name, 'latin1')
  if (!isSound(publicKey)) throw new RangeError('anyone can sign in the name of this key')
  return createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: 'der', type: 'spki' })
}
