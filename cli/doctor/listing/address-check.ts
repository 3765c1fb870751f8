/** Checks that the address is one that an index takes: https, and reachable for others. */
import { isIP } from 'node:net'
import { isPublicAddress } from '../../../src/adapters/outbound/public-addresses.js'
import { type Finding, failed, ok } from '../finding.js'

const ADDRESS = 'address'

export function addressCheck(url: URL): Finding {
  if (isLoopback(url)) {
    return ok(ADDRESS, `${url.origin} is this machine: it is checked, but no index can reach or list it`)
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !isPublicAddress(host)) {
    return failed(
      ADDRESS,
      `${host} is an address of an inner network`,
      'Give the address at which others reach the agent.',
    )
  }
  if (url.protocol === 'https:') return ok(ADDRESS, `${url.origin} is https`)
  return failed(
    ADDRESS,
    `${url.origin} is not https`,
    'Indexes list https alone: put a certificate in front of the agent.',
  )
}

function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
