/** Base32 of addresses and transaction ids: the alphabet of RFC 4648, section 6, without padding. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function encodeBase32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let rest = 0
  for (const byte of bytes) {
    rest = ((rest << 8) | byte) & 0xfff
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(rest >>> (bits - 5)) & 31]
  }
  return bits > 0 ? text + ALPHABET[(rest << (5 - bits)) & 31] : text
}

/** `undefined` for another character, and for text that the encoder never writes (last bits that are not zero). */
export function decodeBase32(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 5) / 8))
  let length = 0
  let bits = 0
  let rest = 0
  for (const character of text) {
    const value = ALPHABET.indexOf(character)
    if (value < 0) return undefined
    rest = ((rest << 5) | value) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes[length++] = (rest >>> bits) & 0xff
    }
  }
  const strayBits = rest & ((1 << bits) - 1)
  return bits < 5 && strayBits === 0 ? bytes : undefined
}
