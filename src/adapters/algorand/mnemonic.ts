/**
 * The 25 words of an account: its seed as 24 digits of 11 bits, the lowest first, and one word that checks them. The words are
 * those of BIP 39.
 *
 * Algosdk has the same, but only with all the rest of it: 127 modules, 0.1 s of CPU and 20 MB for each client.
 */
import { createHash } from 'node:crypto'
import { wordlist } from '@scure/bip39/wordlists/english'

const SEED_BYTES = 32
const SEED_WORDS = 24
const WORD_BITS = 11n
const ONE_WORD = 0x7ff

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

/** The words of a seed of 32 bytes. */
export function wordsOfSeed(seed: Uint8Array): readonly string[] {
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
