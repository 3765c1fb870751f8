/** The registry's applications for readers: boxes, and the routes by which a node shows them. */
import { ABIType } from 'algosdk'
import { refuseUnknown } from '../domain/option-checks.js'
import type { RegistryApps, Score } from '../domain/registered-agent.js'
import { addressBox, agentBox, domainBox, scoreBox } from '../registry/encode-boxes.js'
import { BadRequest, get, json, type Reply, type Route } from './serve-http.js'

/** The sandbox's registry of agents. It is written without a contract. */
export interface SandboxRegistry extends Required<RegistryApps> {
  /** Registers an agent, as its owner would on chain. Returns its id. */
  register(agent: { readonly domain: string; readonly address: string }): number
  /** Sets the score of an agent, as payers' feedback would. */
  score(agentId: number, score: Partial<Omit<Score, 'agentId'>>): void
  /** Writes a box, without a check. */
  putBox(app: number, name: Uint8Array, value: Uint8Array): void
}

const APPS = { identityApp: 1001, reputationApp: 1002, validationApp: 1003 } as const
const PAGE_BOXES_MAX = 1_000

/** What the applications write. The registry's reader decodes it by itself: algosdk cannot be loaded in part. */
const AGENT = ABIType.from('(uint64,string,address,uint64,uint64)')
const SCORE = ABIType.from('(uint64,uint64,uint64,uint64,uint64,uint64,uint64)')
const ID = ABIType.from('uint64')

/** Boxes by the hex of their names, which sorts as their bytes do. */
type Boxes = Map<string, Buffer>

export function createRegistry(nowMs: () => number): SandboxRegistry & { readonly routes: Route[] } {
  const apps = new Map<number, Boxes>(Object.values(APPS).map(app => [app, new Map()]))
  let lastId = 0

  function putBox(app: number, name: Uint8Array, value: Uint8Array): void {
    boxesOf(apps, app).set(Buffer.from(name).toString('hex'), Buffer.from(value))
  }

  return {
    ...APPS,
    putBox,
    register({ domain, address }) {
      const agentId = BigInt(++lastId)
      const seconds = Math.floor(nowMs() / 1_000)
      const [byDomain, byAddress] = [domainBox(domain), addressBox(address)]
      if (!byDomain || !byAddress) throw new RangeError('an agent has a short domain and a valid address')
      putBox(APPS.identityApp, agentBox(agentId), AGENT.encode([agentId, domain, address, seconds, seconds]))
      for (const box of [byDomain, byAddress]) putBox(APPS.identityApp, box, ID.encode(agentId))
      return lastId
    },
    score(id, given) {
      const agentId = BigInt(id)
      const seconds = Math.floor(nowMs() / 1_000)
      refuseUnknown(given, ['jobsPaid', 'volumeMicro', 'validated', 'disputed', 'firstAt', 'lastAt'])
      const none = { jobsPaid: 0n, volumeMicro: 0n, validated: 0n, disputed: 0n }
      const { jobsPaid, volumeMicro, validated, disputed, firstAt, lastAt } = {
        ...{ ...none, firstAt: seconds, lastAt: seconds },
        ...given,
      }
      const values = [agentId, jobsPaid, volumeMicro, validated, disputed, firstAt, lastAt]
      putBox(APPS.reputationApp, scoreBox(agentId), SCORE.encode(values))
    },
    routes: [
      get(/^\/v2\/applications\/(\d{1,15})$/, ({ parts }) => application(apps, Number(parts[0]), lastId)),
      get(/^\/v2\/applications\/(\d{1,15})\/box$/, ({ parts, query }) =>
        box(boxesOf(apps, Number(parts[0])), query),
      ),
      get(/^\/v2\/applications\/(\d{1,15})\/boxes$/, ({ parts, query }) =>
        listed(boxesOf(apps, Number(parts[0])), query),
      ),
    ],
  }
}

function application(apps: ReadonlyMap<number, Boxes>, app: number, agentCount: number): Reply {
  boxesOf(apps, app)
  const uint = (key: string, value: number) => ({
    key: Buffer.from(key).toString('base64'),
    value: { type: 2, uint: value, bytes: '' },
  })
  const state: Readonly<Record<number, readonly object[]>> = {
    [APPS.identityApp]: [uint('agent_count', agentCount)],
    [APPS.reputationApp]: [
      uint('identity_app', APPS.identityApp),
      uint('validation_app', APPS.validationApp),
    ],
  }
  return json(200, { id: app, params: { 'global-state': state[app] ?? [] } })
}

function box(boxes: Boxes, query: URLSearchParams): Reply {
  const name = nameIn(query, 'name')
  const value = boxes.get(name)
  if (!value) throw new BadRequest('algod', 'box not found', 404)
  return json(200, { round: 1, name: base64(name), value: value.toString('base64') })
}

/** Each page begins after the last name of the page before it. Values are included only where the request asks for them. */
function listed(boxes: Boxes, query: URLSearchParams): Reply {
  const prefix = query.has('prefix') ? nameIn(query, 'prefix') : ''
  const after = query.has('next') ? nameIn(query, 'next') : ''
  const limit = Math.min(Number(query.get('limit') ?? PAGE_BOXES_MAX) || PAGE_BOXES_MAX, PAGE_BOXES_MAX)
  const names = [...boxes.keys()].filter(name => name.startsWith(prefix) && name > after).sort()
  const page = names.slice(0, limit)
  return json(200, {
    round: 1,
    boxes: page.map(name => ({
      name: base64(name),
      ...(query.get('values') === 'true' && { value: boxes.get(name)!.toString('base64') }),
    })),
    ...(page.length < names.length && { 'next-token': `b64:${base64(page.at(-1)!)}` }),
  })
}

function boxesOf(apps: ReadonlyMap<number, Boxes>, app: number): Boxes {
  const boxes = apps.get(app)
  if (!boxes) throw new BadRequest('algod', 'application does not exist', 404)
  return boxes
}

function nameIn(query: URLSearchParams, key: string): string {
  const [, encoded] = /^b64:([A-Za-z0-9+/]*={0,2})$/.exec(query.get(key) ?? '') ?? []
  if (encoded === undefined) throw new BadRequest('algod', `${key} is b64: and base64`)
  return Buffer.from(encoded, 'base64').toString('hex')
}

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64')
}
