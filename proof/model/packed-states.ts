/** A state of the world is a row of small numbers. Each number names one part of it: a record, a call, a payment on the chain. */

/** The different values that one kind of part has had, each with its number. `undefined` is 0. */
export class Parts<Part> {
  readonly #textOf: (part: Part) => string
  readonly #parts: (Part | undefined)[] = [undefined]
  readonly #numbers = new Map<string, number>()

  constructor(textOf: (part: Part) => string = JSON.stringify) {
    this.#textOf = textOf
  }

  numberOf(part: Part | undefined): number {
    if (part === undefined) return 0
    const text = this.#textOf(part)
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    const number = this.#parts.length
    if (number > 0xffff) throw new Error('a kind of part has more values than sixteen bits can name')
    this.#parts.push(part)
    this.#numbers.set(text, number)
    return number
  }

  of(number: number): Part | undefined {
    return this.#parts[number]
  }
}

/** All states that were reached, in the order in which they were: the queue of a search in breadth. Nothing is hashed away. */
export class PackedStates {
  readonly width: number
  #count = 0
  #rows: Uint16Array
  /** The state from which each was reached first, and by which of its steps. */
  #parents: Int32Array
  #steps: Uint16Array
  /** Open addressing: a state's number and one, or 0. */
  #slots: Int32Array

  constructor(width: number, room = 1 << 14) {
    this.width = width
    this.#rows = new Uint16Array(width * room)
    this.#parents = new Int32Array(room)
    this.#steps = new Uint16Array(room)
    this.#slots = new Int32Array(2 * room)
  }

  get count(): number {
    return this.#count
  }

  row(state: number): Uint16Array {
    return this.#rows.subarray(state * this.width, (state + 1) * this.width)
  }

  parentOf(state: number): number {
    return this.#parents[state]!
  }

  stepTo(state: number): number {
    return this.#steps[state]!
  }

  /** Whether the state is new. */
  add(row: Uint16Array, parent: number, step: number): boolean {
    const mask = this.#slots.length - 1
    let slot = hashOf(row) & mask
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#isAt(this.#slots[slot]! - 1, row)) return false
    if (this.#count === this.#parents.length) {
      this.#grow()
      return this.add(row, parent, step)
    }
    this.#rows.set(row, this.#count * this.width)
    this.#parents[this.#count] = parent
    this.#steps[this.#count] = step
    this.#slots[slot] = ++this.#count
    return true
  }

  #isAt(state: number, row: Uint16Array): boolean {
    const from = state * this.width
    for (let at = 0; at < this.width; at++) if (this.#rows[from + at] !== row[at]) return false
    return true
  }

  #grow(): void {
    const room = 2 * this.#parents.length
    this.#rows = grown(this.#rows, new Uint16Array(this.width * room))
    this.#parents = grown(this.#parents, new Int32Array(room))
    this.#steps = grown(this.#steps, new Uint16Array(room))
    this.#slots = new Int32Array(2 * room)
    const mask = this.#slots.length - 1
    for (let state = 0; state < this.#count; state++) {
      let slot = hashOf(this.row(state)) & mask
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
      this.#slots[slot] = state + 1
    }
  }
}

function grown<Numbers extends Uint16Array | Int32Array>(old: Numbers, roomier: Numbers): Numbers {
  roomier.set(old)
  return roomier
}

function hashOf(row: Uint16Array): number {
  let hash = 0x811c9dc5
  for (const word of row) hash = Math.imul(hash ^ word, 0x01000193)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x85ebca6b)
  return hash ^ (hash >>> 13)
}
