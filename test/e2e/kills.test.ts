/**
 * SIGKILL at each step of a paid call, in real processes. Then its caller asks another process on the same store: with the
 * very same request, and with a new payment. The table says what it is answered and how often the ledger shows a charge;
 * proof/storage.md has the same table. A memory store ends with its process, so there the other process knows nothing.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { type ChildAgent, childAgent } from '../support/child-agent.js'
import { closing } from '../support/closing.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { proving } from '../support/payer-proof.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { ask, receiptIn, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
const FUNDS = 100_000_000n
const BODY = { question: 'who?' }

const STEPS = [
  'before open',
  'after open',
  'before handler',
  'after handler',
  'before record',
  'after record',
  'settle sent',
  'settle landed',
  'before close',
  'after close',
] as const
type Step = (typeof STEPS)[number]

/** Who calls, and in which order they ask again. A window is charged and owed as any call is: it shares a column. */
const CALLERS = {
  key: { column: 0, path: '/work', hasKey: true, renewsFirst: false },
  renewing: { column: 1, path: '/work', hasKey: true, renewsFirst: true },
  keyless: { column: 2, path: '/work', hasKey: false, renewsFirst: false },
  windowKey: { column: 0, path: '/window', hasKey: true, renewsFirst: false },
  // Without a key, the bytes of a payment alone open no window: its payer proves itself.
  windowProven: { column: 3, path: '/window', hasKey: false, renewsFirst: false },
} as const
type Caller = keyof typeof CALLERS
const NAMES = Object.keys(CALLERS) as Caller[]

/**
 * What the first and the second request get, and the charges of all. `new` is a run of the second process; `kept` the first
 * process's recorded answer, or what the request before it got. By column: with a key, with a key and the new payment
 * first, without a key, and without a key with a proof of the payer.
 */
type Row = readonly [key: string, renewing: string, keyless: string, proven: string]
const UNTOUCHED: Row = ['new, kept, 1', 'new, kept, 1', 'new, new, 2', 'new, new, 2']
const RECORDED: Row = ['kept, kept, 1', 'settlement_unknown, kept, 1', 'kept, new, 2', 'kept, new, 2']
const LANDED: Row = ['kept, kept, 1', 'kept, kept, 1', 'kept, new, 2', 'kept, new, 2']
const CLOSED: Row = ['kept, kept, 1', 'kept, kept, 1', 'payment_spent, new, 2', 'kept, new, 2']
const FORGOTTEN: Row = [
  'payment_spent, new, 2',
  'new, kept, 2',
  'payment_spent, new, 2',
  'payment_spent, new, 2',
]

const TABLE: Readonly<Record<'Redis' | 'memory', Readonly<Record<Step, Row>>>> = {
  Redis: {
    'before open': UNTOUCHED,
    'after open': UNTOUCHED,
    'before handler': UNTOUCHED,
    'after handler': UNTOUCHED,
    'before record': UNTOUCHED,
    'after record': RECORDED,
    'settle sent': RECORDED,
    'settle landed': LANDED,
    'before close': LANDED,
    'after close': CLOSED,
  },
  memory: {
    'before open': UNTOUCHED,
    'after open': UNTOUCHED,
    'before handler': UNTOUCHED,
    'after handler': UNTOUCHED,
    'before record': UNTOUCHED,
    'after record': UNTOUCHED,
    'settle sent': UNTOUCHED,
    'settle landed': FORGOTTEN,
    'before close': FORGOTTEN,
    'after close': FORGOTTEN,
  },
}

/** Every process has one agent of each: to start a process takes longer than the calls that end it. */
const KINDS = [
  ['Redis', 'release'],
  ['Redis', 'replay'],
  ['memory', 'release'],
  ['memory', 'replay'],
] as const

let redis: RedisServer
let sandbox: Sandbox
beforeAll(async () => {
  redis = await startRedis()
  sandbox = await startSandbox()
})
afterAll(async () => {
  await sandbox.close()
  await redis.stop()
})

/** What the killed one held is free soon; the other may stand still for longer without losing what it took over. */
const [SHORT_MS, LONG_MS] = [300, 60_000]

async function process(options: object = {}, leaseMs = SHORT_MS): Promise<ChildAgent> {
  const agents = KINDS.map(([store, onLostResponse]) => ({
    ...(store === 'Redis' && { redisUrl: redis.url, redis: { prefix: `${onLostResponse}:` } }),
    idempotency: { onLostResponse },
    advanced: { timeouts: { leaseMs, reconcilePauseMs: 50 } },
    ...options,
  }))
  const child = await childAgent(sandbox, { agents, ...options }, 'halting-agent.mjs')
  closing({ close: () => child.process.kill('SIGKILL') })
  return child
}

/** A process that is killed once all callers are at this step: by itself, or by us where it waits for the facilitator. */
async function victim(step: Step): Promise<ChildAgent> {
  const calls = KINDS.length * NAMES.length
  if (step !== 'settle sent' && step !== 'settle landed') {
    return process({ halt: { at: step, calls, signal: 'SIGKILL' } })
  }
  const facilitator = heldFacilitator()
  facilitator.serves(sandbox)
  const settling = facilitator.hold('/settle', {}, { landed: step === 'settle landed', times: calls })
  const child = await process({ facilitatorUrl: await facilitator.url })
  settling.arrived.then(() => child.process.kill('SIGKILL'))
  return child
}

interface Told {
  readonly word: string
  readonly run?: number
  readonly windowKey: string | null
}

const WAITING = ['idempotency_in_progress', 'payment_in_use']

/** What is said in the end: until the killed process's lease has run out, the caller is told to wait. */
async function told(send: () => Promise<Response>): Promise<Told> {
  for (;;) {
    const response = await send()
    const { run, error } = (await response.json()) as { run?: number; error: { code: string } }
    if (response.status === 409 && WAITING.includes(error.code)) {
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      await setTimeout(50)
      continue
    }
    if (response.status !== 200) return { word: error.code, windowKey: null }
    expect(receiptIn(response)).toMatchObject({ success: true, amount: String(PRICE) })
    const isReplay = response.headers.get('idempotency-replayed') === 'true'
    return { word: isReplay ? 'kept' : 'new', run, windowKey: response.headers.get('x-svc-subscription') }
  }
}

interface Ended {
  readonly outcome: string
  /** Whether the killed process had handed its answer over. */
  readonly wasAnswered: boolean
}

async function call(
  step: Step,
  at: number,
  name: Caller,
  first: ChildAgent,
  second: ChildAgent,
): Promise<Ended> {
  const { path, hasKey, renewsFirst } = CALLERS[name]
  const account = `${name} ${step} ${at}`
  const key: Record<string, string> = hasKey
    ? { 'idempotency-key': `nobody-can-guess-this-key-of-${name}` }
    : {}
  const signed = async (url: string) => {
    const payment = await signFor({ sandbox } as Seller, url, { account, body: BODY })
    return { body: BODY, headers: { ...key, ...payment } }
  }

  const request = await signed(`${first.urls[at]}${path}`)
  const answer = await ask(`${first.urls[at]}${path}`, request).then(
    async response => [response.status, await response.json()],
    () => undefined,
  )
  if (answer !== undefined) expect(answer).toEqual([200, { run: first.process.pid }])

  const url = `${second.urls[at]}${path}`
  const renewal = await signed(url)
  const requests = renewsFirst ? ([renewal, request] as const) : ([request, renewal] as const)
  const payer = sandbox.accounts(account)
  const asked = ({ body, headers }: typeof request) => {
    const proof = name === 'windowProven' ? proving(payer, url, headers) : {}
    return ask(url, { body, headers: { ...headers, ...proof } })
  }
  const one = await told(() => asked(requests[0]))
  const two = await told(() => asked(requests[1]))
  if (one.word === 'kept') expect(one.run).toBe(first.process.pid)
  if (one.word === 'new') expect(one.run).toBe(second.process.pid)
  if (two.word === 'kept') expect(two.run).toBe(one.run ?? first.process.pid)
  for (const { word, windowKey } of [one, two]) {
    if (path === '/work' || word.includes('_')) continue
    const covered = await ask(url, { body: BODY, headers: { 'x-svc-subscription': windowKey! } })
    expect(covered.status).toBe(200)
  }
  const left = sandbox.balance(sandbox.accounts(account).address).usdc!
  const charges = Number((FUNDS - left) / PRICE)
  return { outcome: `${one.word}, ${two.word}, ${charges}`, wasAnswered: answer !== undefined }
}

it('on each store and in each mode: killed at each step', async () => {
  const second = await process({}, LONG_MS)
  const kill = async (step: Step) => {
    const first = await victim(step)
    const exit = once(first.process, 'exit')
    const ended = await Promise.all(
      KINDS.map((_, at) => Promise.all(NAMES.map(name => call(step, at, name, first, second)))),
    )
    expect(await exit).toEqual([null, 'SIGKILL'])
    return ended
  }
  const killed: Ended[][][] = []
  for (const step of STEPS) killed.push(await kill(step))

  for (const [kind, [store, mode]] of KINDS.entries()) {
    const on = `${store}, ${mode}`
    const seen = STEPS.map((step, at) => [step, ...killed[at]![kind]!.map(({ outcome }) => outcome)])
    const row = (step: Step) => NAMES.map(name => TABLE[store][step][CALLERS[name].column])
    expect(seen, on).toEqual(STEPS.map(step => [step, ...row(step)]))
    // No answer leaves before its payment is settled.
    for (const [at, step] of STEPS.entries()) {
      if (killed[at]![kind]!.some(({ wasAnswered }) => wasAnswered)) expect(step, on).toMatch(/close$/)
    }
  }
}, 300_000)

it('is the table of proof/storage.md', () => {
  const rows: { steps: Step[]; cells: string }[] = []
  for (const step of STEPS) {
    const cells = [...TABLE.Redis[step], ...TABLE.memory[step]].join(' | ')
    if (rows.at(-1)?.cells === cells) rows.at(-1)!.steps.push(step)
    else rows.push({ steps: [step], cells })
  }
  const documented = readFileSync(new URL('../../proof/storage.md', import.meta.url), 'utf8')
  const lines = documented.split('\n').map(line => line.replaceAll(/\s+/g, ' ').replaceAll('`', ''))
  expect(lines).toEqual(
    expect.arrayContaining(rows.map(({ steps, cells }) => `| ${steps.join(', ')} | ${cells} |`)),
  )
})
