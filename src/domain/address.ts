/** The shape of an Algorand address: 58 base32 characters. The Algorand adapter checks the checksum. */
const ADDRESS = /^[A-Z2-7]{58}$/

export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && ADDRESS.test(value)
}
