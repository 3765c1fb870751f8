/** Asks the facilitator's index whether it lists the resources, and under which name. */
import { listWholeBazaar } from '../../../src/app/client/bazaar.js'
import type { BazaarResource } from '../../../src/domain/read-bazaar-index.js'
import { type Finding, failed, ok, skipped } from '../finding.js'
import { shown } from './request.js'
import type { Claimed } from './resource-list-check.js'

const LISTED = 'listed'
const NAMES_MAX = 3

export async function indexCheck(
  claimed: readonly Claimed[],
  facilitatorUrl: string | undefined,
): Promise<Finding> {
  if (claimed.length === 0) return skipped(LISTED, 'there is no resource to look up')
  const cure = 'Name the facilitator that settles for you: --facilitator.'
  if (facilitatorUrl === undefined) return failed(LISTED, 'the network names no facilitator', cure)
  const index = await listWholeBazaar({ facilitatorUrl })
  if (!index.ok) return failed(LISTED, index.error, cure)
  const addresses = new Map(claimed.map(resource => [addressOf(resource.url), resource]))
  const entries = index.resources.filter(({ resourceUrl }) => addresses.has(addressOf(resourceUrl)))
  const found = new Set(entries.map(({ resourceUrl }) => addressOf(resourceUrl)))
  const missing = [...addresses].filter(([address]) => !found.has(address)).map(([, { url }]) => url.pathname)
  const partly = index.complete ? '' : ` (the index was not read to its end: ${index.stopped})`
  const count = `${found.size} of ${addresses.size} resources${namesIn(entries)}`
  if (missing.length === 0) return ok(LISTED, count)
  return failed(
    LISTED,
    `${count}; not ${missing.slice(0, NAMES_MAX).join(', ')}${missing.length > NAMES_MAX ? ', …' : ''}${partly}`,
    'A resource is listed when it is paid for under a declaration that the index can read: pay for one call of it.',
  )
}

/** An index compares addresses without their query. */
function addressOf(url: URL | string): string {
  if (!URL.canParse(String(url))) return ''
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function namesIn(entries: readonly BazaarResource[]): string {
  const names = [...new Set(entries.map(({ serviceName }) => serviceName))].slice(0, NAMES_MAX)
  if (names.length === 0) return ''
  return `, ${names.map(name => (name === undefined ? 'without a name' : `as ${shown(name)}`)).join(', ')}`
}
