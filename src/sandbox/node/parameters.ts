/** Parameters of a path, and what a node says to the ones that it cannot read. */
import { decodeAddress } from '../../adapters/algorand/address.js'
import { refused } from './replies.js'

const UINT64_MAX = 2n ** 64n - 1n

export function uintIn(name: string, text: string): bigint {
  const fault = !/^\d+$/.test(text)
    ? 'invalid syntax'
    : BigInt(text) > UINT64_MAX
      ? 'value out of range'
      : undefined
  if (fault === undefined) return BigInt(text)
  const why = `error binding string parameter: strconv.ParseUint: parsing "${text}": ${fault}`
  throw refused(`Invalid format for parameter ${name}: ${why}`)
}

export function addressIn(text: string): string {
  if (decodeAddress(text)) return text
  const why = !/^[A-Z2-7]*$/.test(text)
    ? `failed to decode address ${text} from base 32`
    : text.length === 58
      ? `address ${text} is malformed, checksum verification failed`
      : `decoded bad addr: ${text}`
  throw refused(
    `Invalid format for parameter address: error unmarshaling '${text}' text as *basics.Address: ${why}`,
  )
}

/** @throws BadRequest in the words of each route */
export function excludesIn(query: URLSearchParams): boolean {
  const exclude = query.get('exclude') ?? 'none'
  if (exclude !== 'all' && exclude !== 'none') throw refused('failed to parse exclude')
  return exclude === 'all'
}
