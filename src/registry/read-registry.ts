/** The registry, read from the boxes of one node. Promises: see the port. */
import { sandboxUrl } from '#platform'
import { type NodeClient, nodeClient, unavailable } from '../adapters/algorand/ask-node.js'
import type { Settings } from '../app/server/options/server-settings.js'
import { fromBase64, toBase64 } from '../domain/bytes.js'
import { SdkError } from '../domain/errors.js'
import type { Network } from '../domain/network.js'
import { networkFacts, nodeUrls } from '../domain/network-definition.js'
import { refuseUnknown } from '../domain/option-checks.js'
import type { RegisteredAgent, RegistryApps, Score } from '../domain/registered-agent.js'
import { fitsUrl } from '../domain/untrusted-text.js'
import { isRecord } from '../domain/x402.js'
import type { Registry } from '../ports/agent-registry.js'
import { systemClock } from '../ports/clock.js'
import type { MakeExchange } from '../ports/exchange.js'
import {
  AGENT_BOXES,
  addressBox,
  agentBox,
  domainBox,
  idInBoxName,
  readAgent,
  readAgentId,
  readScore,
  SCORE_BOXES,
  scoreBox,
} from './encode-boxes.js'

export interface RegistryOptions {
  readonly node: NodeClient
  readonly apps: RegistryApps & { readonly identityApp: number }
  /** How long all agents, and all scores, are cached after they were read. */
  readonly ageMs?: number
  readonly nowMs?: () => number
}

const AGE_MS = 30_000
/** More agents than any registry has. A longer list is refused, not cut. */
const RECORDS_MAX = 20_000
/** A node that ignores the prefix lists an agent's boxes of all kinds. */
const BOXES_READ_MAX = 5 * RECORDS_MAX
const PAGE_BOXES = 1_000
const BOXES_AT_ONCE = 8

export function algorandRegistry(options: RegistryOptions): Registry {
  const { node, apps, ageMs = AGE_MS, nowMs = systemClock.monotonic } = options
  const identity = boxesOf(node, apps.identityApp)
  const reputation = apps.reputationApp === undefined ? undefined : boxesOf(node, apps.reputationApp)
  const list = shared(ageMs, nowMs, async () => {
    const agents = await readAll(identity, AGENT_BOXES, agentIn)
    return [...agents.values()].sort((a, b) => (a.agentId < b.agentId ? -1 : 1))
  })
  const scores = shared(ageMs, nowMs, async () =>
    reputation ? readAll(reputation, SCORE_BOXES, scoreIn) : new Map<bigint, Score>(),
  )

  async function byId(agentId: bigint): Promise<RegisteredAgent | undefined> {
    if (agentId < 1n || agentId >= 2n ** 64n) return undefined
    const value = await identity.value(agentBox(agentId))
    return value && agentIn(value)
  }

  /** An index box may be left over from an earlier record: it counts only where the record agrees with it. */
  async function byIndex(name: Uint8Array | undefined, owns: (agent: RegisteredAgent) => boolean) {
    const value = name && (await identity.value(name))
    const agent = value && (await byId(wellFormed(readAgentId(value), 'agent id')))
    return agent && owns(agent) ? agent : undefined
  }

  return {
    apps,
    byId,
    byDomain: domain => byIndex(domainBox(domain), agent => agent.domain === domain),
    byAddress: address => byIndex(addressBox(address), agent => agent.address === address),
    async score(agentId) {
      const value = await reputation?.value(scoreBox(agentId))
      return value && scoreIn(value)
    },
    list,
    scores,
    close: () => node.close(),
  }
}

type Boxes = ReturnType<typeof boxesOf>

function boxesOf(node: NodeClient, app: number) {
  return {
    async value(name: Uint8Array): Promise<Uint8Array | undefined> {
      const box = await node.find(`/v2/applications/${app}/box?name=${query(name)}`)
      return box && bytesIn(box, 'value')
    },
    page(prefix: Uint8Array, next: string | undefined) {
      const after = next === undefined ? '' : `&next=${encodeURIComponent(next)}`
      return node.get(
        `/v2/applications/${app}/boxes?limit=${PAGE_BOXES}&values=true&prefix=${query(prefix)}${after}`,
      )
    },
  }
}

/** Concurrent callers share one reading. It is cached from its end on, and not at all where it fails. */
function shared<T>(ageMs: number, nowMs: () => number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly reading: Promise<T>; untilMs: number } | undefined
  return () => {
    if (last && nowMs() < last.untilMs) return last.reading
    const asked = { reading: read(), untilMs: Number.POSITIVE_INFINITY }
    last = asked
    asked.reading.then(
      () => {
        asked.untilMs = nowMs() + ageMs
      },
      () => {
        last = undefined
      },
    )
    return asked.reading
  }
}

/** Older nodes support neither prefixes nor pages nor values. This function does without them where they are missing. */
async function readAll<T>(
  boxes: Boxes,
  prefix: Uint8Array,
  read: (value: Uint8Array) => T,
): Promise<ReadonlyMap<bigint, T>> {
  const records = new Map<bigint, T>()
  const unread: (readonly [bigint, Uint8Array])[] = []
  let next: string | undefined
  let boxesRead = 0
  do {
    const page = await boxes.page(prefix, next)
    if (!Array.isArray(page.boxes) || !page.boxes.every(isRecord)) throw unavailable('boxes is no list')
    for (const box of page.boxes) {
      const name = bytesIn(box, 'name')
      const id = idInBoxName(name, prefix)
      if (id === undefined) continue
      if (typeof box.value === 'string') records.set(id, read(bytesIn(box, 'value')))
      else unread.push([id, name])
    }
    if (records.size + unread.length > RECORDS_MAX) throw unavailable(`more than ${RECORDS_MAX} boxes`)
    // An empty page counts too: the pages of a broken node may lead to each other for ever.
    boxesRead += Math.max(1, page.boxes.length)
    if (boxesRead > BOXES_READ_MAX) throw unavailable('its boxes have no end')
    const { 'next-token': token } = page
    next = typeof token === 'string' && token !== '' && token !== next ? token : undefined
    if (next !== undefined && !fitsUrl(next)) throw unavailable('its next-token is no text')
  } while (next !== undefined)
  for (let at = 0; at < unread.length; at += BOXES_AT_ONCE) {
    const some = unread.slice(at, at + BOXES_AT_ONCE)
    const values = await Promise.all(some.map(([, name]) => boxes.value(name)))
    for (const [index, value] of values.entries()) {
      // The box was deleted after the list was read.
      if (value) records.set(some[index]![0], read(value))
    }
  }
  return records
}

const agentIn = (value: Uint8Array) => wellFormed(readAgent(value), 'agent')
const scoreIn = (value: Uint8Array) => wellFormed(readScore(value), 'score')

function wellFormed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw unavailable(`a box holds no ${what}`)
  return value
}

function bytesIn(box: Record<string, unknown>, key: string): Uint8Array {
  const value = box[key]
  if (typeof value !== 'string') throw unavailable(`a box without ${key}`)
  return fromBase64(value)
}

function query(bytes: Uint8Array): string {
  return encodeURIComponent(`b64:${toBase64(bytes)}`)
}

/** Which registry, read from which node. */
export interface AlgodRegistryOptions extends RegistryApps {
  /** The application that holds the registered agents. */
  readonly identityApp: number
  /** The network whose node is asked where `algodUrl` is not given. @default 'mainnet' */
  readonly network?: Network
  /** The node that is asked. @default in Node the environment variable `SVC_SANDBOX`, else the network's: its definition's, or a public one */
  readonly algodUrl?: string
  /** The node's API token. @default none */
  readonly algodToken?: string
}

const OPTIONS: readonly (keyof AlgodRegistryOptions)[] = [
  ...(['identityApp', 'reputationApp', 'validationApp', 'network', 'algodUrl', 'algodToken'] as const),
]

/**
 * Reads a registry from a node. No request is sent before the first question.
 *
 * @param options Which applications, on which node.
 * @throws SvcError `invalid_options`
 *
 * @example
 * const registry = algodRegistry({ network: 'testnet', identityApp })
 * const verdict = await verifyAgent('https://agent.example/.well-known/agent.json', { registry })
 */
export function algodRegistry(options: AlgodRegistryOptions): Registry {
  refuseUnknown(options, OPTIONS, '', invalid)
  const { network = 'mainnet', algodUrl: _, algodToken: __, ...apps } = options
  const facts = networkFacts(network, invalid)
  const { algodUrl: url, algodToken: token } = nodeUrls(facts, options, sandboxUrl())
  if (url === undefined) return invalid(`there is no algodUrl for ${facts.name}: give one`)
  return algorandRegistry({ node: nodeClient({ url, token }), apps })
}

function invalid(why: string): never {
  throw new SdkError(`algodRegistry: ${why}`, 'invalid_options')
}

/** The registry that a server's settings name. Its server closes it. */
export function registryOf(
  { registry, algodUrl, algodToken }: Settings,
  exchange: MakeExchange,
): Registry | undefined {
  const { identityApp } = registry
  if (identityApp === undefined) return undefined
  const node = nodeClient({ url: algodUrl, token: algodToken, exchange })
  return algorandRegistry({ node, apps: { ...registry, identityApp } })
}
