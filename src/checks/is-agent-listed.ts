/** Examines an agent from outside, as an index does before it lists the agent. Nothing is paid. */
import { urlOf } from '../app/client/build-request.js'
import { manifestUrl } from '../app/client/fetch-manifest.js'
import { listWholeBazaar } from '../bazaar/list-bazaar.js'
import type { BazaarResource } from '../bazaar/read-index-page.js'
import { isLoopback } from '../domain/caller-ip-network.js'
import type { NetworkFacts } from '../domain/network.js'
import { isRecord } from '../domain/x402.js'
import { jsonAt, request } from './ask-as-index.js'
import { type Finding, failed, judged, ok, quoted, skipped } from './finding.js'
import { reachProblems } from './is-quote-payable.js'
import { resourceChecks } from './probe-resource.js'
import { type Claimed, claimedIn, ENTRIES_MAX, resourceListCheck } from './read-x402-list.js'

export interface Listing {
  /** The agent's address, with the path at which it is mounted. */
  readonly url: string
  readonly facilitatorUrl: string | undefined
  /** The examiner's own network, which may be sold on beside the public ones. */
  readonly network: NetworkFacts
}

/** Each is asked for several times, and an examination is to end. */
const RESOURCES_MAX = 25

/** @throws SvcError `invalid_url` */
export async function listingChecks({ url, facilitatorUrl, network }: Listing): Promise<Finding[]> {
  const base = urlOf(url)
  const [list, manifest, card] = await Promise.all([
    resourceListCheck(base, network),
    manifestCheck(base),
    cardCheck(base),
  ])
  const claimed = list.claimed.length > 0 ? list.claimed : manifest.claimed
  const findings = [addressCheck(base), list.finding, manifest.finding, card.finding, countOf(claimed)]
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

/** An index takes https alone, and reaches no inner network. */
export function addressCheck(url: URL): Finding {
  const { hostname, origin } = url
  if (isLoopback(hostname))
    return ok('address', `${origin} is this machine: it is checked, but no index can reach or list it`)
  const cure = 'Give the address at which others reach the agent, with a certificate in front of it.'
  return judged('address', reachProblems(url), cure, `${origin} is https`)
}

/** What a document says of its agent, and the list that is in it. */
async function documentCheck(check: string, url: URL, list: 'skills' | 'endpoints', cure: string) {
  const read = await jsonAt(url)
  const refuse = (why: string) => ({ finding: failed(check, url.href + why, cure), entries: [] })
  if ('why' in read) return refuse(`: ${read.why}`)
  const { name, [list]: entries } = read.found
  if (typeof name !== 'string' || !Array.isArray(entries)) return refuse(` has no name or no ${list}`)
  return { finding: ok(check, `${quoted(name)} with ${entries.length} ${list}`), entries }
}

function cardCheck(base: URL) {
  const url = new URL('/.well-known/agent-card.json', base.origin)
  return documentCheck('agent card', url, 'skills', 'Answer or forward it at the root of the origin.')
}

/** No index needs it. Where the list fails, it says what can be asked nevertheless. */
async function manifestCheck(base: URL) {
  const cure = 'Give the address under which the agent is mounted; clients of this package read its manifest.'
  const { finding, entries } = await documentCheck('manifest', manifestUrl(base), 'endpoints', cure)
  const claimed = entries.slice(0, ENTRIES_MAX).flatMap(endpoint => claimedIn(endpoint, base) ?? [])
  return { finding, claimed }
}

const TAGS = ['og:title', 'og:description'] as const

/** An index that is told of no merchant by the quotes reads the tags of the page. */
async function merchantCheck(base: URL, namesMerchant: boolean): Promise<Finding> {
  if (namesMerchant) return ok('merchant', 'the quotes name it')
  const url = new URL('/', base.origin)
  const cure =
    'Have a page at the root of the origin with the tags og:title and og:description: an index takes its name for yours from there.'
  const asked = await request(url, 'GET', { accept: 'text/html' })
  if ('why' in asked) return failed('merchant', `${url.href}: ${asked.why}`, cure)
  const { status, bytes } = asked.reply
  if (status !== 200) return failed('merchant', `${url.href} answers ${status}`, cure)
  const text = new TextDecoder().decode(bytes)
  const missing = TAGS.filter(tag => !text.includes(`"${tag}"`) && !text.includes(`'${tag}'`))
  if (missing.length > 0) return failed('merchant', `${url.href} has no ${missing.join(' and no ')}`, cure)
  return ok('merchant', `${url.href} has Open Graph tags`)
}

const LISTED = 'listed'
const NAMES_MAX = 3

async function indexCheck(claimed: readonly Claimed[], facilitatorUrl: string | undefined): Promise<Finding> {
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
  return `, ${names.map(name => (name === undefined ? 'without a name' : `as ${quoted(name)}`)).join(', ')}`
}
