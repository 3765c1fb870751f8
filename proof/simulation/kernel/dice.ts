/** Chance from a seed: the same seed gives the same rolls, on every machine. */

import type { Random } from '../../../src/simulation-parts.js'
/** A 32-bit hash of a text (FNV-1a, then finished as MurmurHash3 does). */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The generator is sfc32 (Chris Doty-Humphrey, PractRand): small, fast, and good enough for tests. */
export class Dice {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: string) {
    this.#a = hashOf(seed, 0x9e3779b9)
    this.#b = hashOf(seed, 0x243f6a88)
    this.#c = hashOf(seed, 0xb7e15162)
    for (let warm = 0; warm < 12; warm++) this.word()
  }

  /** 32 random bits. */
  word(): number {
    const next = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + next) | 0
    return next >>> 0
  }

  /** From 0 up to 1, which it never is. */
  fraction(): number {
    return this.word() / 2 ** 32
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.fraction() * items.length)]!
  }

  /** Mostly short, now and then long: each doubling is as likely as the one before. */
  span(minMs: number, maxMs: number): number {
    return Math.round(minMs * (maxMs / minMs) ** this.fraction())
  }
}

/** What a party of the simulation makes its ids, keys and notes of. */
export function seededRandom(seed: string): Random {
  const dice = new Dice(seed)
  const bytes = (length: number) => {
    const made = new Uint8Array(length)
    for (let at = 0; at < length; at++) made[at] = dice.word() & 0xff
    return made
  }
  return {
    bytes,
    iv: () => bytes(12),
    uuid() {
      const hex = Array.from(bytes(16), byte => byte.toString(16).padStart(2, '0'))
      hex[6] = `4${hex[6]![1]}`
      hex[8] = `a${hex[8]![1]}`
      const text = hex.join('')
      return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`
    },
    fraction: () => dice.fraction(),
  }
}
