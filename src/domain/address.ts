/** The shape of an Algorand address: 58 base32 characters. Whether its checksum holds is the Algorand adapter's to say. */
const ADDRESS = /^[A-Z2-7]{58}$/

export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && ADDRESS.test(value)
}
