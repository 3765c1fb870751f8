/** By node:crypto: algosdk's ed25519 takes 5 ms to sign, node's 0.05. Algosdk's words come with 127 modules and 20 MB. */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { wordlist } from '@scure/bip39/wordlists/english'
import { SdkError, type SvcError } from '../../domain/errors.js'

const SEED_BYTES = 32
const SECRET_KEY_BYTES = 64
/** The seed as 24 digits of 11 bits, the lowest first, and one word that checks them. The words are those of BIP 39. */
const MNEMONIC_WORDS = 25
const SEED_WORDS = 24
const WORD_BITS = 11n
const ONE_WORD = 0x7ff

/** DER prefixes of an ed25519 key: PKCS #8 before a seed, SPKI before a public key. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
export const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** The secret stays inside `sign`: no property, JSON or inspection shows it. */
export interface KeyPair {
  readonly publicKey: Uint8Array
  sign(bytes: Uint8Array): Uint8Array
}

/** The error describes the expected form, and quotes nothing of the input. */
export function keyPairFromSecret(secret: string | Uint8Array): KeyPair {
  return typeof secret === 'string' ? fromMnemonic(secret) : fromSecretKey(secret)
}

export function keyPairFromSeed(seed: Uint8Array): KeyPair {
  if (!(seed instanceof Uint8Array) || seed.length !== SEED_BYTES) throw invalidKey('A seed has 32 bytes')
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI.length)
  return { publicKey: new Uint8Array(publicKey), sign: (bytes: Uint8Array) => sign(null, bytes, privateKey) }
}

function fromMnemonic(mnemonic: string): KeyPair {
  const words = mnemonic.trim().toLowerCase().split(/\s+/)
  if (words.length !== MNEMONIC_WORDS)
    throw invalidKey(`A mnemonic has ${MNEMONIC_WORDS} words, not ${words.length}`)
  const seed = seedFromWords(words)
  const wrong = 'The mnemonic has a word that is not in the list, or its last word does not match the others'
  if (seed === undefined) throw invalidKey(wrong)
  return keyPairFromSeed(seed)
}

function fromSecretKey(secretKey: Uint8Array): KeyPair {
  if (!(secretKey instanceof Uint8Array) || secretKey.length !== SECRET_KEY_BYTES)
    throw invalidKey(`A secret key is ${SECRET_KEY_BYTES} bytes, or a mnemonic of ${MNEMONIC_WORDS} words`)
  const pair = keyPairFromSeed(secretKey.subarray(0, SEED_BYTES))
  if (Buffer.compare(pair.publicKey, secretKey.subarray(SEED_BYTES)) === 0) return pair
  throw invalidKey('The two halves of the secret key do not belong together')
}

/** `undefined` where one of the 25 words is not in the list, or the last does not match the others. */
export function seedFromWords(words: readonly string[]): Uint8Array | undefined {
  const digits = words.slice(0, SEED_WORDS).map(word => wordlist.indexOf(word))
  if (digits.includes(-1)) return undefined
  const number = digits.reduceRight((sum, digit) => (sum << WORD_BITS) | BigInt(digit), 0n)
  // 24 words hold 8 bits more than a seed has.
  if (number >> BigInt(8 * SEED_BYTES) !== 0n) return undefined
  const seed = Uint8Array.from(
    Buffer.from(number.toString(16).padStart(2 * SEED_BYTES, '0'), 'hex').reverse(),
  )
  return words[SEED_WORDS] === checkOf(seed) ? seed : undefined
}

export function wordsOfSeed(seed: Uint8Array): readonly string[] {
  if (seed.length !== SEED_BYTES) throw invalidKey('A seed has 32 bytes')
  const number = BigInt(`0x${Buffer.from(seed).reverse().toString('hex')}`)
  const words = Array.from({ length: SEED_WORDS }, (_, at) => {
    return wordlist[Number((number >> (WORD_BITS * BigInt(at))) & BigInt(ONE_WORD))]!
  })
  return [...words, checkOf(seed)]
}

function checkOf(seed: Uint8Array): string {
  const hash = createHash('sha512-256').update(seed).digest()
  return wordlist[hash.readUInt16LE() & ONE_WORD]!
}

function invalidKey(message: string): SvcError {
  return new SdkError(message, 'invalid_key')
}
