/**
 * What goes wrong, decided by the seed and by the name of the moment, which counts how often its place was there before.
 * So one fault can be taken away, and most others stay as they were.
 */
import { Dice, hashOf } from './dice.js'

/** A fault that happened: its name is what `--replay` takes away or keeps. */
export interface Strike {
  readonly name: string
  readonly atMs: number
}

export class Fate {
  readonly strikes: Strike[] = []
  /** No more faults: the world heals. */
  isOver = false
  readonly #seed: string
  readonly #salt: number
  readonly #allowed: ReadonlySet<string> | undefined
  readonly #counts = new Map<string, number>()

  /** @param allowed The only faults that happen; without it, all that the seed has. */
  constructor(seed: string, allowed?: ReadonlySet<string>) {
    this.#seed = seed
    this.#salt = hashOf(seed)
    this.#allowed = allowed
  }

  /** Numbers what happens again and again in one place. */
  numbered(place: string): string {
    const count = (this.#counts.get(place) ?? 0) + 1
    this.#counts.set(place, count)
    return `${place}#${count}`
  }

  /** A number from 0 up to 1 that belongs to this name alone. */
  fractionOf(name: string): number {
    return hashOf(name, this.#salt) / 2 ** 32
  }

  dice(name: string): Dice {
    return new Dice(`${this.#seed}/${name}`)
  }

  /** Rolls for what the fault is like, where it happens; `undefined` where it does not. */
  strike(name: string, probability: number, atMs: number): Dice | undefined {
    if (this.isOver || probability === 0 || this.fractionOf(name) >= probability) return undefined
    if (this.#allowed && !this.#allowed.has(name)) return undefined
    this.strikes.push({ name, atMs })
    return this.dice(name)
  }
}
