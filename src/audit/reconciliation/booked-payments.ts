/**
 * The payments that are booked already, in 16 to 32 bytes each: 64 bits of a salted hash of the transaction id, in an open
 * table that doubles. Of a hundred million payments, two share a hash in about one of some thousand audits.
 */
import { systemRandom } from '../../ports/random.js'
import { mix } from './payment-fingerprints.js'

export interface Booked {
  /** Adds the payment. Returns whether it is new. */
  add(txId: string): boolean
}

const SLOTS_FIRST = 1_024

export function createBooked(): Booked {
  const salt = Buffer.from(systemRandom.bytes(8))
  const [saltA, saltB] = [salt.readUInt32LE(0), salt.readUInt32LE(4)]
  let slots = new Uint32Array(SLOTS_FIRST * 2)
  let count = 0

  /** The slot of this hash, or the empty slot for it. Two zeros mean "empty", so a hash of two zeros is changed. */
  function slotOf(into: Uint32Array, high: number, low: number): number {
    const mask = into.length / 2 - 1
    for (let slot = high & mask; ; slot = (slot + 1) & mask) {
      const [a, b] = [into[slot * 2]!, into[slot * 2 + 1]!]
      if ((a === 0 && b === 0) || (a === high && b === low)) return slot
    }
  }

  function put(into: Uint32Array, high: number, low: number): boolean {
    const slot = slotOf(into, high, low)
    if (into[slot * 2 + 1] !== 0) return false
    into[slot * 2] = high
    into[slot * 2 + 1] = low
    return true
  }

  return {
    add(txId) {
      if (count * 2 >= slots.length / 2) {
        const grown = new Uint32Array(slots.length * 2)
        for (let at = 0; at < slots.length; at += 2) {
          if (slots[at + 1] !== 0) put(grown, slots[at]!, slots[at + 1]!)
        }
        slots = grown
      }
      const isNew = put(slots, mix(txId, saltA), mix(txId, saltB) || 1)
      if (isNew) count++
      return isNew
    },
  }
}
