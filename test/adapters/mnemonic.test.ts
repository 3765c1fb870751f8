/** The 25 words, against algosdk's. */
import { mnemonicFromSeed, seedFromMnemonic } from 'algosdk'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { seedFromWords, wordsOfSeed } from '../../src/adapters/algorand/ed25519-and-mnemonic.js'

const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })

it('are those of algosdk, both ways', () => {
  const extremes = [new Uint8Array(32), new Uint8Array(32).fill(0xff), Uint8Array.of(...Array(31).fill(0), 1)]
  fc.assert(
    fc.property(seed, bytes => {
      const words = wordsOfSeed(bytes)
      expect(words.join(' ')).toBe(mnemonicFromSeed(bytes))
      expect(seedFromWords(words)).toEqual(bytes)
    }),
    { examples: extremes.map(bytes => [bytes]) },
  )
})

it('with one word changed are refused where algosdk refuses them', () => {
  const place = fc.nat({ max: 24 })
  const word = fc.oneof(
    seed.map(bytes => wordsOfSeed(bytes)[0]!),
    fc.constantFrom('', 'nonsense', 'Abandon'),
  )
  fc.assert(
    fc.property(seed, place, word, (bytes, at, changed) => {
      const words = wordsOfSeed(bytes).with(at, changed)
      expect(seedFromWords(words)).toEqual(readByAlgosdk(words.join(' ')))
    }),
  )
  // 24 words may be a number that no seed of 32 bytes is.
  const tooLarge = [...Array<string>(24).fill('zoo'), 'abandon']
  expect([seedFromWords(tooLarge), readByAlgosdk(tooLarge.join(' '))]).toEqual([undefined, undefined])
})

function readByAlgosdk(words: string): Uint8Array | undefined {
  try {
    return seedFromMnemonic(words)
  } catch {
    return undefined
  }
}
