/** The on-chain registry, read through a node that the sandbox plays: the port, the search tool, and who a card belongs to. */
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeClient } from '../../src/adapters/algorand/ask-node.js'
import { guardedFetch, isPublicAddress } from '../../src/adapters/outbound/guarded-fetch.js'
import { type AgentVerdict, defineEndpoint, verifyAgent } from '../../src/index.js'
import type { Registry } from '../../src/ports/agent-registry.js'
import { algorandRegistry, type RegistryOptions } from '../../src/registry/read-registry.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { messageIn, post, rpc } from '../support/doors.js'
import { open } from '../support/seller.js'

let sandbox: Sandbox
const domains = ['agent.example', 'other.example', 'not a host']
beforeAll(async () => {
  sandbox = await startSandbox()
  for (const domain of domains)
    sandbox.registry.register({ domain, address: sandbox.accounts(domain).address })
  sandbox.registry.score(1, { jobsPaid: 7n, volumeMicro: 2n ** 60n })
})
afterAll(() => sandbox.close())

function registryAt(url: string, options: Partial<RegistryOptions> = {}): Registry {
  return closing(
    algorandRegistry({
      node: nodeClient({ url, nodeTimeoutMs: 20_000 }),
      apps: sandbox.registry,
      ...options,
    }),
  )
}

/** A node between us and the sandbox, for what a real one may do differently. */
async function nodeThat(answers: RequestListener): Promise<string> {
  const server = createServer(answers)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closing({
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Knows neither pages nor values nor prefixes, as nodes before 4.7. */
const oldNode: RequestListener = async (request, response) => {
  const url = new URL(request.url!, sandbox.algodUrl)
  if (url.pathname.endsWith('/boxes')) url.search = ''
  const answer = await fetch(url)
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
}

describe('the registry', () => {
  it('finds an agent by id, by domain and by address', async () => {
    const registry = registryAt(sandbox.algodUrl)
    const { address } = sandbox.accounts('other.example')
    const agent = { agentId: 2n, domain: 'other.example', address }
    expect(await registry.byId(2n)).toMatchObject(agent)
    expect(await registry.byDomain('other.example')).toMatchObject(agent)
    expect(await registry.byAddress(address)).toMatchObject(agent)
  })

  it('knows nothing of others', async () => {
    const registry = registryAt(sandbox.algodUrl)
    expect(await registry.byId(0n)).toBeUndefined()
    expect(await registry.byId(99n)).toBeUndefined()
    expect(await registry.byId(-1n)).toBeUndefined()
    expect(await registry.byDomain('nobody.example')).toBeUndefined()
    expect(await registry.byDomain('x'.repeat(100))).toBeUndefined()
    expect(await registry.byAddress(sandbox.wallet.address)).toBeUndefined()
    expect(await registry.byAddress('no address')).toBeUndefined()
    expect(await registry.score(2n)).toBeUndefined()
    expect(await registryAt(sandbox.algodUrl, { apps: { identityApp: 1 } }).scores()).toEqual(new Map())
  })

  it('does not follow an index that another record left behind', async () => {
    const stale = closing(await startSandbox())
    const { address } = stale.accounts('a')
    stale.registry.register({ domain: 'first.example', address })
    stale.registry.putBox(
      stale.registry.identityApp,
      Buffer.from('dm_gone.example'),
      Buffer.alloc(8, 0).fill(1, 7),
    )
    const registry = registryAt(stale.algodUrl)
    expect(await registry.byDomain('gone.example')).toBeUndefined()
    expect(await registry.byDomain('first.example')).toMatchObject({ agentId: 1n })
  })

  it('reads the committed boxes of a real deployment', async () => {
    const { boxes } = JSON.parse(readFileSync(new URL('../vectors/registry.json', import.meta.url), 'utf8'))
    const other = closing(await startSandbox())
    for (const { app, nameBase64, valueBase64 } of boxes) {
      const id = app === 'identity' ? other.registry.identityApp : other.registry.reputationApp
      other.registry.putBox(id, Buffer.from(nameBase64, 'base64'), Buffer.from(valueBase64, 'base64'))
    }
    const registry = registryAt(other.algodUrl)
    expect((await registry.list()).map(({ agentId, domain }) => [agentId, domain])).toEqual([
      [1n, 'agent.example'],
      [2n, 'ünïcode.example'],
      [258n, 'a'],
    ])
    expect(await registry.byDomain('ünïcode.example')).toMatchObject({ agentId: 2n })
    expect(await registry.score(1n)).toMatchObject({ jobsPaid: 7n, volumeMicro: 125_000n, disputed: 1n })
  })

  it('lists everybody from an old node and from a new one, over several pages', async () => {
    const ids = [1n, 2n, 3n]
    expect((await registryAt(sandbox.algodUrl).list()).map(({ agentId }) => agentId)).toEqual(ids)
    expect((await registryAt(await nodeThat(oldNode)).list()).map(({ agentId }) => agentId)).toEqual(ids)
    const paged = await nodeThat(async (request, response) => {
      const answer = await fetch(new URL(request.url!.replace('limit=1000', 'limit=1'), sandbox.algodUrl))
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
    expect((await registryAt(paged).list()).map(({ agentId }) => agentId)).toEqual(ids)
  })

  it('reads all scores, from an old node and from a new one', async () => {
    for (const url of [sandbox.algodUrl, await nodeThat(oldNode)]) {
      const registry = registryAt(url)
      const score = await registry.score(1n)
      expect(score).toMatchObject({ jobsPaid: 7n })
      expect(await registry.scores()).toEqual(new Map([[1n, score]]))
    }
  })

  it('ends where the pages of a node lead to each other for ever', async () => {
    const url = await nodeThat((request, response) => {
      const token = request.url!.includes('next=one') ? 'two' : 'one'
      response.end(JSON.stringify({ boxes: Array(1_000).fill({ name: 'AAAA' }), 'next-token': token }))
    })
    await expect(registryAt(url).list()).rejects.toThrow('have no end')
  })

  it('says that the node gives no usable answer where its next page has no name', async () => {
    const url = await nodeThat((_, response) => {
      response.end('{ "boxes": [{ "name": "AAAA" }], "next-token": "\\ud800" }')
    })
    await expect(registryAt(url).list()).rejects.toMatchObject({ code: 'node_unavailable' })
  })

  it('asks once for all who ask within seconds, and again after a failure', async () => {
    let asked = 0
    let down = true
    const url = await nodeThat((request, response) => {
      asked++
      if (down) response.writeHead(500).end('{}')
      else void oldNode(request, response)
    })
    let nowMs = 0
    const registry = registryAt(url, { ageMs: 1_000, nowMs: () => nowMs })
    await expect(registry.list()).rejects.toMatchObject({ code: 'node_unavailable' })
    down = false
    asked = 0
    const lists = await Promise.all([registry.list(), registry.list(), registry.list()])
    expect(lists.every(list => list.length === 3)).toBe(true)
    const once = asked
    await registry.list()
    expect(asked).toBe(once)
    nowMs = 2_000
    await registry.list()
    expect(asked).toBe(2 * once)
  })

  const broken: Record<string, unknown> = {
    'boxes is no list': { boxes: {} },
    'a box without a name': { boxes: [{ value: '' }] },
    'a box that holds no agent': { boxes: [{ name: 'YWdfAAAAAAAAAAE=', value: 'AAAA' }] },
  }
  for (const [name, body] of Object.entries(broken)) {
    it(`takes for an outage what is no answer: ${name}`, async () => {
      const url = await nodeThat((_, response) => response.end(JSON.stringify(body)))
      await expect(registryAt(url).list()).rejects.toMatchObject({ code: 'node_unavailable' })
    })
  }
})

describe('search_agents', () => {
  async function agentWithTools(algodUrl = sandbox.algodUrl): Promise<string> {
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => 1 })
    const { identityApp, reputationApp, validationApp } = sandbox.registry
    const registry = { agentId: 1, identityApp, reputationApp, validationApp }
    const seller = await open([work], { sandbox, registry, algodUrl })
    return `${seller.url}/mcp`
  }

  async function ask(url: string, args: object) {
    const call = rpc('tools/call', { name: 'search_agents', arguments: args })
    return (await messageIn(await post(url, call))).result!
  }

  async function search(args: object, algodUrl?: string) {
    return ask(await agentWithTools(algodUrl), args)
  }

  it('finds by part of a domain, with a card’s URL for each, and without paying', async () => {
    const { structuredContent, content } = await search({ query: 'example' })
    expect(structuredContent).toMatchObject({
      network: 'testnet',
      identityApp: sandbox.registry.identityApp,
      total: 3,
      query: 'example',
      count: 2,
      agents: [
        { agentId: 1, domain: 'agent.example', cardUrl: 'https://agent.example/.well-known/agent.json' },
        { agentId: 2, domain: 'other.example', cardUrl: 'https://other.example/.well-known/agent.json' },
      ],
    })
    expect(JSON.parse(content[0]!.text)).toEqual(structuredContent)
    expect(JSON.stringify(structuredContent)).not.toContain('score')
  })

  it('adds reputation where it is asked for: null for who was never paid, digits for what is too large', async () => {
    const { structuredContent } = await search({ withReputation: true })
    expect(structuredContent?.agents).toMatchObject([
      { score: { agentId: 1, jobsPaid: 7, volumeMicro: (2n ** 60n).toString() } },
      { score: null },
      { score: null, cardUrl: null },
    ])
  })

  it('asks the node once for the agents and once for the scores, for any number of callers', async () => {
    const asked: string[] = []
    const node = await nodeThat(async (request, response) => {
      if (request.url!.startsWith('/v2/applications/')) asked.push(request.url!)
      const answer = await fetch(new URL(request.url!, sandbox.algodUrl))
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
    const url = await agentWithTools(node)
    const found = await Promise.all(Array.from({ length: 20 }, () => ask(url, { withReputation: true })))
    for (const { structuredContent } of found) expect(structuredContent).toEqual(found[0]!.structuredContent)
    await ask(url, { withReputation: true, limit: 1 })
    expect(asked).toHaveLength(2)
  })

  it('answers with no more than 64 KiB, whatever is registered', async () => {
    const crowded = closing(await startSandbox())
    const { registry } = crowded
    const { address } = sandbox.accounts('agent.example')
    const full = { jobsPaid: 2n ** 64n - 1n, volumeMicro: 2n ** 64n - 1n, disputed: 2n ** 64n - 1n }
    for (let at = 0; at < 150; at++)
      registry.score(registry.register({ domain: `${at}`.padEnd(60, '"'), address }), full)
    const { identityApp, reputationApp } = registry
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => 1 })
    const seller = await open([work], { sandbox: crowded, registry: { identityApp, reputationApp } })
    const args = { limit: 100, withReputation: true }
    const call = rpc('tools/call', { name: 'search_agents', arguments: args })
    const text = await (await post(`${seller.url}/mcp`, call)).text()
    expect(text.length).toBeLessThan(65_536)
    const { total, count, agents } = (await ask(`${seller.url}/mcp`, args)).structuredContent!
    expect(total).toBe(150)
    expect(count).toBeGreaterThan(20)
    expect(agents).toHaveLength(count as number)
  })

  it('refuses what is no query', async () => {
    for (const args of [
      { query: 5 },
      { query: 'x'.repeat(300) },
      { limit: 0 },
      { limit: 1.5 },
      { withReputation: 'yes' },
    ]) {
      expect(await search(args)).toMatchObject({
        isError: true,
        structuredContent: { error: { code: 'invalid_input' } },
      })
    }
  })

  it('says that the chain cannot be read, and never shows an outage as nobody', async () => {
    const url = await nodeThat((_, response) => response.writeHead(503).end('{}'))
    expect(await search({}, url)).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'registry_unavailable', tool: 'search_agents' } },
    })
  })
})

describe('verifyAgent', () => {
  const CARD = 'https://agent.example/.well-known/agent.json'
  const params = (agentId: unknown, identityApp: unknown = sandbox.registry.identityApp) => ({
    agentId,
    identityApp,
  })
  const card = (registryParams: unknown, payTo = sandbox.accounts('agent.example').address) => ({
    capabilities: {
      extensions: [
        { uri: 'https://any.example/a2a/ext/x402/v1', params: { payTo } },
        { uri: 'https://any.example/a2a/ext/registry/v1', params: registryParams },
      ],
    },
  })
  const serving =
    (body: unknown, init?: ResponseInit): typeof fetch =>
    async () =>
      Response.json(body, init)
  const verified = (url: string, fetchImpl: typeof fetch): Promise<AgentVerdict> =>
    verifyAgent(url, { registry: registryAt(sandbox.algodUrl), fetchImpl })

  it('binds a domain and an address that point at each other', async () => {
    expect(await verified(CARD, serving(card(params(1))))).toMatchObject({
      verified: true,
      agent: { agentId: 1n, domain: 'agent.example' },
      paysRegisteredAddress: true,
    })
    expect(await verified(CARD, serving(card(params(1), sandbox.wallet.address)))).toMatchObject({
      verified: true,
      paysRegisteredAddress: false,
    })
  })

  it('says why not, and never throws', async () => {
    const reason = async (url: string, fetchImpl: typeof fetch) => {
      const verdict = await verified(url, fetchImpl)
      return verdict.verified ? 'verified' : verdict.reason
    }
    const good = serving(card(params(1)))
    for (const url of [
      'http://agent.example/c',
      'ftp://agent.example',
      'nonsense',
      'https://agent.example/uploads/agent.json',
      'https://u:p@agent.example/c',
    ]) {
      expect(await reason(url, good), url).toBe('invalid_url')
    }
    expect(await reason('https://evil.example/.well-known/agent.json', good)).toBe('other_domain')
    expect(await reason('https://agent.example:8443/.well-known/agent-card.json', good)).toBe('other_domain')
    expect(await reason(CARD, serving(card(params(2))))).toBe('other_domain')
    expect(await reason(CARD, serving(card(params(99))))).toBe('not_registered')
    expect(await reason(CARD, serving(card(params(1, 77))))).toBe('other_registry')
    for (const none of [null, 0, -1, 1.5, '1', undefined]) {
      expect(await reason(CARD, serving(card(params(none))))).toBe('no_claim')
    }
    for (const odd of [[], 5, null, { capabilities: { extensions: [null] } }, { capabilities: 5 }]) {
      expect(await reason(CARD, serving(odd))).toBe('no_claim')
    }
    expect(await reason(CARD, serving({}, { status: 404 }))).toBe('card_unreachable')
    const redirect = new Response(null, { status: 302, headers: { location: 'https://agent.example/x' } })
    expect(await reason(CARD, async () => redirect)).toBe('card_unreachable')
    expect(await reason(CARD, () => Promise.reject(new Error('down')))).toBe('card_unreachable')
    const down = registryAt(await nodeThat((_, response) => response.writeHead(500).end()))
    expect(await verifyAgent(CARD, { registry: down, fetchImpl: good })).toMatchObject({
      reason: 'registry_unavailable',
    })
  })

  it('connects to public addresses only, unless it is given another fetch', async () => {
    const inside = [
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '172.16.0.1',
      '192.168.0.1',
      '100.64.0.1',
      '0.0.0.0',
    ]
    const inside6 = [
      '[::1]',
      '[::]',
      '[fc00::1]',
      '[fe80::1]',
      '[::ffff:127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
    ]
    for (const host of [...inside, ...inside6]) {
      expect(isPublicAddress(host.replace(/^\[|\]$/g, '')), host).toBe(false)
      const refused = expect(guardedFetch(`https://${host}/`), host).rejects
      await refused.toMatchObject({ cause: expect.objectContaining({ reason: 'address' }) })
    }
    await expect(guardedFetch('https://localhost/')).rejects.toThrow()
    const verdict = await verifyAgent('https://localhost/.well-known/agent.json', {
      registry: registryAt(sandbox.algodUrl),
    })
    expect(verdict).toMatchObject({
      reason: 'card_unreachable',
      message: expect.stringMatching(/not on the public internet/),
    })
  })
})
