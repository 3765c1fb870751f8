/** Examines an agent from outside, as an index does before it lists the agent. Nothing is paid. */
import { urlOf } from '../../../src/app/client/build-request.js'
import type { NetworkFacts } from '../../../src/domain/network.js'
import { isRecord } from '../../../src/domain/x402.js'
import { type Finding, ok, skipped } from '../finding.js'
import { addressCheck } from './address-check.js'
import { cardCheck, manifestCheck, merchantCheck } from './document-checks.js'
import { indexCheck } from './index-check.js'
import { resourceChecks } from './resource-checks.js'
import { type Claimed, resourceListCheck } from './resource-list-check.js'

export interface ExaminedListing {
  /** The agent's address, with the path at which it is mounted. */
  readonly url: string
  readonly facilitatorUrl: string | undefined
  /** The examiner's own network, which may be sold on beside the public ones. */
  readonly network: NetworkFacts
}

/** Each is asked for several times, and an examination is to end. */
const RESOURCES_MAX = 25

/** @throws SvcError `invalid_url` */
export async function examineListing({ url, facilitatorUrl, network }: ExaminedListing): Promise<Finding[]> {
  const base = urlOf(url)
  const [list, manifest, card] = await Promise.all([
    resourceListCheck(base, network),
    manifestCheck(base),
    cardCheck(base),
  ])
  const claimed = list.claimed.length > 0 ? list.claimed : manifest.claimed
  const findings = [addressCheck(base), list.finding, manifest.finding, card, countOf(claimed)]
  let namesMerchant = false
  for (const resource of claimed.slice(0, RESOURCES_MAX)) {
    const { findings: found, extensions } = await resourceChecks(resource, network)
    findings.push(...found)
    namesMerchant ||= isRecord(extensions) && 'x402-merchant' in extensions
  }
  return [
    ...findings,
    ...(await Promise.all([merchantCheck(base, namesMerchant), indexCheck(claimed, facilitatorUrl)])),
  ]
}

function countOf({ length }: readonly Claimed[]): Finding {
  if (length === 0)
    return skipped('resources', 'neither the list nor the manifest names one that can be asked')
  return ok(
    'resources',
    length > RESOURCES_MAX ? `the first ${RESOURCES_MAX} of ${length} are asked` : `${length}`,
  )
}
