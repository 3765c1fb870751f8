/** Checks the other documents that indexes read: the agent card, the manifest, and the page at the root of the origin. */
import { manifestUrl } from '../../../src/app/client/fetch-manifest.js'
import { type Finding, failed, ok } from '../finding.js'
import { jsonAt, request, shown } from './request.js'
import { type Claimed, claimedIn, ENTRIES_MAX } from './resource-list-check.js'

export async function cardCheck(base: URL): Promise<Finding> {
  const url = new URL('/.well-known/agent-card.json', base.origin)
  const read = await jsonAt(url)
  const { name, skills }: Record<string, unknown> = 'found' in read ? read.found : {}
  const cure = 'Answer or forward it at the root of the origin.'
  if ('why' in read) return failed('agent card', `${url.href}: ${read.why}`, cure)
  if (typeof name !== 'string' || !Array.isArray(skills)) {
    return failed('agent card', `${url.href} has no name or no skills`, cure)
  }
  return ok('agent card', `${shown(name)} with ${skills.length} skills`)
}

/** No index needs it. Where the list fails, it says what can be asked nevertheless. */
export async function manifestCheck(
  base: URL,
): Promise<{ readonly finding: Finding; readonly claimed: readonly Claimed[] }> {
  const url = manifestUrl(base)
  const read = await jsonAt(url)
  const { name, endpoints }: Record<string, unknown> = 'found' in read ? read.found : {}
  const refuse = (message: string) => {
    const cure =
      'Give the address under which the agent is mounted; clients of this package read its manifest.'
    return { finding: failed('manifest', message, cure), claimed: [] }
  }
  if ('why' in read) return refuse(`${url.href}: ${read.why}`)
  if (typeof name !== 'string' || !Array.isArray(endpoints)) {
    return refuse(`${url.href} has no name or no endpoints`)
  }
  return {
    finding: ok('manifest', `${shown(name)} with ${endpoints.length} endpoints`),
    claimed: endpoints.slice(0, ENTRIES_MAX).flatMap(endpoint => claimedIn(endpoint, base) ?? []),
  }
}

const TAGS = ['og:title', 'og:description'] as const

/** An index that is told of no merchant by the quotes reads the tags of the page. */
export async function merchantCheck(base: URL, namesMerchant: boolean): Promise<Finding> {
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
