/** Reads `/.well-known/x402` as an index does, and says what is wrong with it. */
import { parseBaseUnits } from '../domain/money.js'
import { type NetworkFacts, networkOf } from '../domain/network.js'
import { METHODS, type Method } from '../domain/path-pattern.js'
import { isAddress } from '../domain/untrusted-text.js'
import { isRecord, X402_VERSION } from '../domain/x402.js'
import { jsonAt } from './ask-as-index.js'
import { type Finding, failed, ok, quoted } from './finding.js'

/** A resource that the agent says it sells. The other fields are as the list has them, or absent. */
export interface Claimed {
  readonly url: URL
  readonly method: Method
  readonly amount?: unknown
  readonly asset?: unknown
  readonly payTo?: unknown
}

const LIST = 'x402 list'
const PATH = '/.well-known/x402'
/** More than an agent sells. */
export const ENTRIES_MAX = 1_000

export async function resourceListCheck(
  base: URL,
  network: NetworkFacts,
): Promise<{ readonly finding: Finding; readonly claimed: readonly Claimed[] }> {
  const atRoot = new URL(PATH, base.origin)
  const read = await jsonAt(atRoot)
  if ('found' in read) return judged(read.found, base, network)
  const below = new URL(base.pathname.replace(/\/+$/, '') + PATH, base.origin)
  const mounted = below.href === atRoot.href ? read : await jsonAt(below)
  const finding = (message: string, cure: string) => failed(LIST, message, cure)
  if ('found' in mounted)
    return {
      finding: finding(
        `${atRoot.href}: ${read.why}; it is at ${below.href}`,
        'Indexes look at the root of the origin alone: answer or forward it there.',
      ),
      claimed: judged(mounted.found, base, network).claimed,
    }
  const cure = 'Serve the list there, without a redirect and without a page of your site in its place.'
  return { finding: finding(`${atRoot.href}: ${read.why}`, cure), claimed: [] }
}

function judged(list: Record<string, unknown>, base: URL, own: NetworkFacts) {
  const { x402Version, name, resources } = list
  const entries: readonly unknown[] = Array.isArray(resources) ? resources.slice(0, ENTRIES_MAX) : []
  const claimed = entries.flatMap(entry => claimedIn(entry, base) ?? [])
  const problems = [
    x402Version === X402_VERSION ? [] : `x402Version is ${quoted(x402Version)}, not 2`,
    typeof name === 'string' && name !== '' ? [] : 'it has no name',
    entries.length > 0 ? [] : 'it has no resources',
    ...entries.map((entry, at) => problemsOf(entry, base, own).map(why => `resource ${at + 1}: ${why}`)),
  ].flat()
  const [first, ...others] = problems
  const more = others.length > 0 ? `; and ${others.length} more` : ''
  const finding =
    first === undefined
      ? ok(LIST, `${entries.length} resources at ${base.origin}${PATH}`)
      : failed(LIST, `${first}${more}`, 'Correct the list: an index passes over what it cannot read.')
  return { finding, claimed }
}

/** Only addresses of the examined origin: a list must not send this machine to others. */
export function claimedIn(entry: unknown, base: URL): Claimed | undefined {
  if (!isRecord(entry)) return undefined
  const { url, method, amount, asset, payTo } = entry
  if (!isOwn(url, base) || !isMethod(method)) return undefined
  return { url: new URL(url), method, amount, asset, payTo }
}

function isOwn(url: unknown, base: URL): url is string {
  return typeof url === 'string' && URL.canParse(url) && new URL(url).origin === base.origin
}

function problemsOf(entry: unknown, base: URL, own: NetworkFacts): string[] {
  if (!isRecord(entry)) return ['it is no object']
  const { url, method, network, asset, amount, payTo } = entry
  return [
    isOwn(url, base) ? [] : `url is ${quoted(url)}, not an address at ${base.origin}`,
    isMethod(method) ? [] : `method is ${quoted(method)}`,
    typeof network === 'string' && networkOf(network, own)?.wholeHashId === network
      ? []
      : `network is ${quoted(network)}, not the 44-character id of a network`,
    typeof asset === 'string' ? [] : 'asset is no text',
    isAddress(payTo) ? [] : `payTo is ${quoted(payTo)}, not an address`,
    amount === undefined || parseBaseUnits(amount) !== undefined
      ? []
      : `amount is ${quoted(amount)}, not digits`,
  ].flat()
}

function isMethod(method: unknown): method is Method {
  return (METHODS as readonly unknown[]).includes(method)
}
