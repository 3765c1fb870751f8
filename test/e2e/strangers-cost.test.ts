/**
 * What one request may cost that no payment stands behind: every door, every place in what it reads, every hostile shape. Each row
 * prints its worst figures. `STRANGERS_BYTES=1000000` measures what SECURITY.md shows.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateAccount, secretKeyToMnemonic } from 'algosdk'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PaymentPayload } from '../../src/domain/x402.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { type ChildAgent, childAgent } from '../support/child-agent.js'
import { messageOf, rpc } from '../support/doors.js'
import { HOSTILE_JSON, type HostileShape, hostileText } from '../support/hostile-json.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { challengeIn, presenting, signQuote } from '../support/seller.js'
import {
  asked,
  type Cost,
  type CountingProxy,
  costsOf,
  countingProxy,
  type StrangersRequest,
} from '../support/stranger-costs.js'
import {
  AGENT_PLACES,
  DOCUMENT_PLACES,
  DOORS,
  FACILITATOR_PLACES,
  type Place,
  READER_PLACES,
  SANDBOX_PLACES,
} from '../support/strangers-doors.js'

const BYTES = Number(process.env.STRANGERS_BYTES ?? 120_000)
const SHAPES: readonly HostileShape[] =
  process.env.STRANGERS_BYTES === undefined
    ? ['a wide list of numbers', 'many keys', 'escapes without an end']
    : (Object.keys(HOSTILE_JSON) as HostileShape[])

const ANSWER_BYTES_MAX = 65_536
/** What twice the bytes may cost, where parsing them takes twice as long. Quadratic is 4. */
const DOUBLED_MAX = 2.2
/**
 * Not four times the bytes: `[0,0]` takes that by being parsed, and Node collects late what it received, joined and decoded before.
 * 10 MiB was seen for 120,000 bytes.
 */
const MEMORY_BYTES_MAX = 128 * BYTES
/**
 * The sides of a comparison are measured in turn, and each bound must hold in one of these rounds: what else runs on this machine
 * makes a round useless, and not the test red. (The least of each side over all rounds was compared first: on a busy machine one
 * side was lucky once, and linear work seemed to take 2.6 times.) A stall is no noise: the one that this test was written for took
 * 55 times the bound.
 */
const ROUNDS_MAX = 15
const STALL_RATIO = 10

interface Server {
  readonly child: ChildAgent
  readonly url: string
  readonly bareUrl: string
}

let sandbox: Sandbox
let redis: RedisServer
let node: CountingProxy
let facilitator: CountingProxy
let folder: string
const servers = new Map<string, Promise<Server>>()

beforeAll(async () => {
  sandbox = await startSandbox()
  redis = await startRedis()
  node = await countingProxy(sandbox.algodUrl)
  facilitator = await countingProxy(sandbox.facilitatorUrl)
  folder = await mkdtemp(join(tmpdir(), 'svc-strangers-'))
})

afterAll(async () => {
  for (const { child } of await Promise.all(servers.values())) child.process.kill('SIGKILL')
  node.close()
  facilitator.close()
  await redis.stop()
  await sandbox.close()
  await rm(folder, { recursive: true })
})

async function start(kind: string, options: object): Promise<Server> {
  const child = await childAgent(sandbox, { kind, algodUrl: node.url, ...options }, 'strangers-process.mjs')
  const { port } = (await child.said('bare')).bare as { readonly port: number }
  return { child, url: child.url, bareUrl: `http://127.0.0.1:${port}` }
}

const KINDS = {
  agent: () => {
    const journal = join(folder, 'journal.ndjson')
    return start('agent', { redisUrl: redis.url, facilitatorUrl: facilitator.url, journal })
  },
  facilitator: () => start('facilitator', { sponsor: { mnemonic: sandbox.accounts('sponsor').mnemonic } }),
  sandbox: () => start('sandbox', {}),
  async reader() {
    const server = await start('reader', {})
    return { ...server, bareUrl: `${server.url}/parsed` }
  },
}

/** One process for all tests of this file. */
function started(kind: keyof typeof KINDS): Promise<Server> {
  const running = servers.get(kind) ?? KINDS[kind]()
  servers.set(kind, running)
  return running
}

/** Without what is read for all, at intervals. */
function questionsOf(asked: CountingProxy): readonly string[] {
  return asked.taken().filter(question => !/\/(params|supported)$/.test(question))
}

interface Row extends Cost {
  readonly place: string
  readonly shape: string
  /** Of three times what any server spends that receives and parses these bytes, and two plain refusals. */
  readonly cpuRatio: number
  readonly doubled: number
}

async function rowOf(
  { child, url, bareUrl }: Server,
  plainMs: number,
  place: Place,
  shape: HostileShape,
): Promise<Row> {
  const whole = place.request(HOSTILE_JSON[shape](BYTES))
  const half = place.request(HOSTILE_JSON[shape](BYTES / 2))
  const bareOf = ({ body = '' }: StrangersRequest) => [bareUrl, { path: '/', body }] as const
  const times = whole.body === undefined ? 20 : 2
  // Code that runs for the first time is slow.
  for (let time = 0; time < times; time++) await asked(url, whole)
  const measured = async (): Promise<Row> => {
    const costs = await costsOf(child, [bareOf(half), bareOf(whole), [url, half], [url, whole]], times)
    const [bareHalf, bare, halved, cost] = costs as readonly [Cost, Cost, Cost, Cost]
    // The parser itself takes longer than twice for twice as many names.
    const parserDoubles = Math.max(1, bare.cpuMs / bareHalf.cpuMs / 2)
    return {
      place: `${place.door}: ${place.place}`,
      shape,
      ...cost,
      cpuRatio: cost.cpuMs / ((place.share ?? 1) * (3 * bare.cpuMs + 2 * plainMs)),
      // What a head carries is as long in both.
      doubled: whole.body === undefined ? 1 : cost.cpuMs / halved.cpuMs / parserDoubles,
    }
  }
  let row = await measured()
  for (let round = 1; exceeds(row) && row.cpuRatio < STALL_RATIO && round < ROUNDS_MAX; round++)
    row = least(row, await measured())
  return row
}

function least(first: Row, second: Row): Row {
  const of = (key: 'cpuMs' | 'memoryBytes' | 'cpuRatio' | 'doubled') => Math.min(first[key], second[key])
  const cost = { cpuMs: of('cpuMs'), memoryBytes: of('memoryBytes') }
  return { ...second, ...cost, cpuRatio: of('cpuRatio'), doubled: of('doubled') }
}

function exceeds({ cpuRatio, doubled, memoryBytes, answerBytes }: Row): boolean {
  return (
    cpuRatio > 1 || doubled > DOUBLED_MAX || memoryBytes > MEMORY_BYTES_MAX || answerBytes > ANSWER_BYTES_MAX
  )
}

/** The worst of all shapes in each figure. */
function printed(rows: readonly Row[]): void {
  const most = (key: 'cpuMs' | 'cpuRatio' | 'doubled' | 'memoryBytes' | 'answerBytes') =>
    rows.reduce((worst, row) => (row[key] > worst[key] ? row : worst))
  const { place, shape, cpuMs, cpuRatio } = most('cpuRatio')
  const figures = [
    place,
    shape,
    `${cpuMs.toFixed(1)} ms`,
    cpuRatio.toFixed(2),
    most('doubled').doubled.toFixed(1),
    `${(most('memoryBytes').memoryBytes / 1_048_576).toFixed(0)} MiB`,
    most('answerBytes').answerBytes,
  ]
  console.info(`| ${figures.join(' | ')} |`)
}

async function expectBounds(server: Server, places: readonly Place[], plain: StrangersRequest) {
  const plainCosts = await costsOf(
    server.child,
    Array.from({ length: 5 }, () => [server.url, plain] as const),
    20,
  )
  const plainMs = Math.min(...plainCosts.map(({ cpuMs }) => cpuMs))
  const all: Row[] = []
  for (const place of places) {
    const rows: Row[] = []
    const isInHead = place.request('').body === undefined
    // A head has room for some thousand characters, which nothing parses.
    const shapes = isInHead ? SHAPES.slice(0, 1) : SHAPES
    for (const shape of shapes) rows.push(await rowOf(server, plainMs, place, shape))
    printed(rows)
    all.push(...rows)
  }
  expect(all.filter(exceeds)).toEqual([])
}

describe('what one request of a stranger costs', () => {
  it('an agent', async () => {
    const startedMs = performance.now()
    const server = await started('agent')
    await expectBounds(server, AGENT_PLACES, { path: '/any' })
    expect(questionsOf(facilitator)).toEqual([])
    expect(questionsOf(node)).toEqual([])
    // The journal says once who writes it, and once a minute how many calls there were.
    const journal = await readFile(join(folder, 'journal.ndjson'), 'utf8')
    const lines = journal.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(2 + (performance.now() - startedMs) / 60_000)
    expect(Math.max(...lines.map(line => line.length))).toBeLessThan(2_000)
  }, 900_000)

  it('an agent’s free documents', async () => {
    await expectBounds(await started('agent'), DOCUMENT_PLACES, { path: '/any' })
    expect(questionsOf(facilitator)).toEqual([])
    expect(questionsOf(node)).toEqual([])
  }, 900_000)

  it('a facilitator of one’s own', async () => {
    await expectBounds(await started('facilitator'), FACILITATOR_PLACES, { path: '/verify' })
    expect(questionsOf(node).filter(question => !question.startsWith('GET /v2/accounts/'))).toEqual([])
  }, 900_000)

  it('a sandbox', async () => {
    await expectBounds(await started('sandbox'), SANDBOX_PLACES, { path: '/verify' })
  }, 900_000)

  it('who reads a facilitator’s list and the registry', async () => {
    await expectBounds(await started('reader'), READER_PLACES, { path: '/none' })
  }, 900_000)

  it('an agent, by payments that cannot land: one question to the facilitator and one to the node each, and nothing stays in the store', async () => {
    const server = await started('agent')
    const poor = secretKeyToMnemonic(generateAccount().sk)
    const signed = async (terms = {}) => {
      const challenge = challengeIn(await fetch(`${server.url}/any`, { method: 'POST' }))
      const accepts = challenge.accepts.map(each => ({ ...each, ...terms }))
      return signQuote({ sandbox }, { ...challenge, accepts }, { mnemonic: poor })
    }
    const byHttp = (payment: PaymentPayload, headers = {}) => ({
      path: '/any',
      headers: { ...presenting(payment), ...headers },
    })
    const asks: Record<string, (payment: PaymentPayload) => StrangersRequest> = {
      'HTTP: a payment without money': payment => byHttp(payment),
      'HTTP: with a short key': payment => byHttp(payment, { 'idempotency-key': 'short' }),
      'HTTP: with a long key': payment => byHttp(payment, { 'idempotency-key': 'x'.repeat(40) }),
      'A2A: the same': payment => ({
        path: '/a2a',
        headers: presenting(payment),
        body: JSON.stringify(rpc('message/send', messageOf('any', [{ data: {} }]))),
      }),
      'MCP: the same': payment => ({
        path: '/mcp',
        body: JSON.stringify(
          rpc('tools/call', { name: 'any', arguments: {}, _meta: { 'x402/payment': payment } }),
        ),
      }),
    }
    const counted = async (name: string, requests: readonly StrangersRequest[]) => {
      facilitator.taken()
      node.taken()
      for (const request of requests) await asked(server.url, request)
      const questions = questionsOf(node)
      const verified = questionsOf(facilitator).length
      const each = (count: number) => count / requests.length
      const kinds = [...new Set(questions)].join(', ')
      console.info(`| ${name} | ${each(verified)} | ${each(questions.length)} | ${kinds} |`)
      return { verified: each(verified), asked: each(questions.length) }
    }
    for (const [name, ask] of Object.entries(asks)) {
      const payments = await Promise.all(Array.from({ length: 5 }, () => signed()))
      const { verified, asked } = await counted(name, payments.map(ask))
      expect(verified, name).toBe(1)
      // It may have landed, and been forgotten. The round is read in the background, for all.
      expect(asked, name).toBe(1)
    }
    // It may have landed before the price changed, and been forgotten.
    const priced = await Promise.all(Array.from({ length: 5 }, () => signed({ amount: '1' })))
    const mispriced = await counted(
      'HTTP: a payment of another price',
      priced.map(payment => byHttp(payment)),
    )
    expect(mispriced).toEqual({ verified: 0, asked: 1 })
    const late = await Promise.all(Array.from({ length: 6 }, () => signed()))
    sandbox.advanceRounds(2_000)
    // Until the server has read the round again.
    const verifiedLate = async () => {
      facilitator.taken()
      await asked(server.url, byHttp(late[0]!))
      return facilitator.taken().length
    }
    await expect.poll(verifiedLate).toBe(0)
    const expired = await counted(
      'HTTP: an expired payment',
      late.slice(1).map(payment => byHttp(payment)),
    )
    expect(expired.verified).toBe(0)
    expect(expired.asked).toBeLessThanOrEqual(1)
    const client = new Redis(redis.url)
    onTestFinished(() => client.disconnect())
    const kept = await Promise.all(
      (await client.keys('*')).map(async key => [key, await client.pttl(key)] as const),
    )
    // The latest runs are a list of bounded length, which holds none of a caller's bytes.
    const lasting = kept.filter(([key, ms]) => key !== 'svc:runs' && (ms < 0 || ms > 60_000))
    expect(lasting).toEqual([])
  }, 120_000)
})

/** Of each door. */
const FUZZ_SECONDS = Number(process.env.STRANGERS_FUZZ_SECONDS ?? 2)
const SEED = Number(process.env.STRANGERS_FUZZ_SEED ?? Date.now() % 2_147_483_647)
/** What takes less is as fast as any request. */
const CPU_MS_SEEN = 10
const ALL_PLACES = [
  ...AGENT_PLACES,
  ...DOCUMENT_PLACES,
  ...FACILITATOR_PLACES,
  ...SANDBOX_PLACES,
  ...READER_PLACES,
]

describe(`whatever a stranger sends, by chance, for ${FUZZ_SECONDS} s each`, () => {
  it.each(DOORS)(
    '%s',
    async (door, kind) => {
      const server = await started(kind)
      const { child, url, bareUrl } = server
      const places = ALL_PLACES.filter(place => place.door === door)
      const isSlow = async (request: StrangersRequest, share: number) => {
        const bareRequest = { path: '/', body: request.body ?? '' }
        for (let round = 0; round < ROUNDS_MAX; round++) {
          const [own] = await costsOf(child, [[url, request]], 1)
          if (own!.cpuMs <= CPU_MS_SEEN) return false
          const [bare] = await costsOf(child, [[bareUrl, bareRequest]], 1)
          if (own!.cpuMs <= CPU_MS_SEEN + share * 3 * bare!.cpuMs) return false
        }
        return true
      }
      let sent = 0
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...places), hostileText, async (place, text) => {
          const request = place.request(text)
          const startedMs = performance.now()
          const { status, headBytes, body } = await asked(url, request)
          expect(status).not.toBe(500)
          expect(headBytes + body.length).toBeLessThanOrEqual(ANSWER_BYTES_MAX)
          const tookMs = performance.now() - startedMs
          if (tookMs > CPU_MS_SEEN) expect(await isSlow(request, place.share ?? 1)).toBe(false)
          sent++
        }),
        { seed: SEED, numRuns: 1_000_000, interruptAfterTimeLimit: FUZZ_SECONDS * 1_000 },
      )
      console.info(`${door}: ${sent} requests of seed ${SEED}`)
      expect(sent).toBeGreaterThan(0)
      expect((await asked(url, { path: '/', method: 'GET' })).status).toBeLessThan(500)
    },
    FUZZ_SECONDS * 1_000 + 120_000,
  )
})
