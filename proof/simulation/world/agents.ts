/** What the seller sells: two agents with one address, whose endpoints have the same names; and the versions that a deploy makes. */

import {
  type AgentDef,
  defineAgent,
  defineEndpoint,
  type HandlerContext,
  SvcError,
} from '../../../src/index.js'
import { sleep } from '../../../src/simulation-parts.js'
import type { Conditions } from '../conditions.js'
import type { Process } from '../kernel/process.js'
import type { World } from './world.js'

export const ORIGIN = 'https://seller.example'
export const SISTER = 'https://sister.example'
export const ENDPOINTS = [
  ...['work', 'research', 'units', 'feed', 'tale', 'vault', 'metered', 'cash', 'balance'],
  // The same names, of another agent of this seller.
  ...['sister/work', 'sister/feed', 'sister/tale', 'sister/balance'],
] as const as readonly EndpointName[]
export type EndpointName =
  | 'work'
  | 'research'
  | 'units'
  | 'feed'
  | 'tale'
  | 'vault'
  | 'metered'
  | 'cash'
  | 'balance'
  | 'sister/work'
  | 'sister/feed'
  | 'sister/tale'
  | 'sister/balance'

export function originOf(endpoint: EndpointName): string {
  return endpoint.startsWith('sister/') ? SISTER : ORIGIN
}

/** What a handler is asked to do with its caller's money. */
export interface Work {
  readonly act: string
  /** `once`: returns, and fails where a run for its act has returned. */
  readonly does: 'return' | 'once' | 'throw' | 'refuse' | 'stall' | 'nothing' | 'redirect' | 'much'
  /** How long it takes. */
  readonly ms?: number
  readonly units?: number
  /** How the stream ends, where it is asked of the endpoint that sells streams. */
  readonly tale?: Tale
  /** What the handler says that the call cost. `caught`: as `wrong`, and the handler hides what that throws. */
  readonly charge?: 'less' | 'wrong' | 'caught'
  /** Nobody asked for it. */
  readonly junk?: string
}

/** What buys a balance. */
export interface Purchase {
  readonly amount: string
}

export interface Tale {
  readonly ends: 'whole' | 'break' | 'never'
  /** From its first event to its end. */
  readonly ms: number
}

/** Above this an answer is delivered and not kept, where there is `idempotency`. */
export const ANSWER_BYTES_MAX = 2_048
const HANDLER_TIMEOUT_MS = 30_000
const STREAM_TIMEOUT_MS = 60_000

/** An answer names its run, wherever it is read again. */
function answerOf(run: number, { act, does }: Work): unknown {
  const data = { run, act }
  if (does === 'much') return { ...data, much: 'x'.repeat(ANSWER_BYTES_MAX) }
  if (does !== 'redirect') return data
  const headers = { 'content-type': 'application/json', location: 'https://seller.example/elsewhere' }
  return new Response(JSON.stringify(data), { status: 303, headers })
}

/** Each event names the run, as an answer does. What it says that it costs, it says again before it ends. */
async function* told(
  process: Process,
  answer: unknown,
  tale: Tale,
  says: () => void,
): AsyncGenerator<unknown> {
  yield answer
  await sleep(process.clock, tale.ms)
  if (tale.ends === 'break') throw new Error('the tale breaks')
  if (tale.ends === 'never') await new Promise(() => {})
  says()
  yield answer
}

/** No cost of any call. */
const WRONG = ['$1000000', '-$0.001', 'NaN', '', '$1e30', '0.1.1']

function charges(run: number, { charge }: Pick<HandlerContext, 'charge'>, said: Work['charge']): void {
  if (said === undefined) return
  if (said === 'less') return void charge(LESS.usd)
  try {
    charge(WRONG[run % WRONG.length]!)
  } catch (error) {
    if (said === 'wrong') throw error
  }
}

/** Of every price, and its last part is rounded up. */
export const LESS = { usd: '$0.0004005', units: 401n } as const

/** What an agent sells for, in the version that runs now. */
export interface Terms {
  readonly isNew: boolean
  readonly windowCalls: number | undefined
}

/** What the deploy of these conditions makes of them. */
export function termsAfter({ deploy, windowCalls }: Conditions, isNew: boolean): Terms {
  const isCounted = isNew && deploy === 'count'
  return { isNew, windowCalls: isCounted ? (windowCalls ?? 0) + CALLS_MORE : windowCalls }
}

/** So many calls more has a window that is sold by the next version. */
const CALLS_MORE = 3

/** An endpoint as it was written down. */
export interface Sold {
  readonly name: string
  readonly handler: (context: HandlerContext) => Promise<unknown>
}

/** What the handler of an endpoint does, here or behind an upstream. */
export function handlerOf(world: World, process: Process, at: EndpointName) {
  return async (context: WorkContext) => {
    const work = context.body as Work
    const run = world.truth.runBegins(at, work, context)
    if (work.ms !== undefined) await sleep(process.clock, work.ms)
    const isOver = world.truth.handlerRuns.some(({ act, returned }) => returned && act === work.act)
    switch (work.does === 'once' && isOver ? 'throw' : work.does) {
      case 'throw':
        throw new Error('broken')
      case 'refuse':
        throw new SvcError('not today', 'not_today', 422)
      case 'nothing':
        return undefined
      case 'stall':
        return new Promise(() => {})
      case 'return':
      case 'once':
      case 'redirect':
      case 'much':
        charges(run.id, context, work.charge)
        world.truth.runReturns(run)
        return STREAMING.has(at.replace('sister/', '')) && work.tale && work.does !== 'redirect'
          ? told(process, answerOf(run.id, work), work.tale, () => charges(run.id, context, work.charge))
          : answerOf(run.id, work)
    }
  }
}

/** Each process of the seller knows the server behind it by another name, which names the process. */
export function originHostOf({ name }: Process): string {
  return `${name}.origin.example`
}

/** What a handler is told, as far as it is asked for here. */
export type WorkContext = Pick<HandlerContext, 'body' | 'idempotencyKey' | 'traceId' | 'charge'> & {
  readonly payment: Pick<HandlerContext['payment'], 'txId' | 'payer'>
}

/** @param onSold hears of each endpoint */
export function agentOf(
  world: World,
  process: Process,
  payTo: string,
  terms: Terms,
  of: '' | 'sister/',
  onSold: (sold: Sold) => void = () => {},
): AgentDef {
  const endpoint: typeof defineEndpoint = options => {
    onSold(options as never)
    return defineEndpoint(options)
  }
  const { deploy, balancePeriod, runs } = world.conditions
  const isOurs = runs === 'handler'
  const worker = (name: string) => {
    const at = `${of}${name}` as EndpointName
    return runs === 'upstream'
      ? ({ upstream: `http://${originHostOf(process)}/${at}`, bodyType: 'json' } as const)
      : { handler: handlerOf(world, process, at) }
  }
  const timeout = HANDLER_TIMEOUT_MS
  const calls = terms.windowCalls
  const more = terms.isNew && deploy === 'price' ? 1 : 0
  const price = (cents: number) => `$${((cents + more) / 100).toFixed(2)}`
  const input =
    terms.isNew && deploy === 'schema' ? ({ type: 'object', required: ['act'] } as const) : undefined
  const stream = { ...(isOurs && { stream: true }), streamTimeout: STREAM_TIMEOUT_MS } as const
  const common = { timeout, ...(input && { input }) }
  const window = (cents: number) => ({
    subscription: { price: price(cents), period: '2h', ...(calls !== undefined && { calls }) },
  })
  const work = endpoint({ name: 'work', price: price(1), ...common, ...worker('work') })
  const tale = endpoint({
    name: 'tale',
    price: price(1),
    ...stream,
    ...common,
    ...worker('tale'),
  })
  const feed = endpoint({
    name: 'feed',
    ...window(of ? 50 : 3),
    ...stream,
    ...common,
    ...worker('feed'),
  })
  const balance = { amounts: Object.keys(AMOUNTS), period: balancePeriod }
  const about = { description: 'Sells what is asked for.', network: 'testnet', payTo, balance } as const
  if (of) return defineAgent({ name: 'Sister', handle: 'sister', ...about, endpoints: [work, tale, feed] })
  return defineAgent({
    name: 'Simulated',
    handle: 'simulated',
    ...about,
    endpoints: [
      work,
      endpoint({ name: 'research', price: price(5), ...common, ...worker('research') }),
      endpoint({
        name: 'units',
        price: ({ body }: { body: unknown }) => `$0.00${(body as Work).units ?? 1}`,
        priceHint: '$0.001 a unit',
        ...common,
        ...worker('units'),
      }),
      tale,
      feed,
      endpoint({ name: 'vault', ...window(90), ...common, ...worker('vault') }),
      endpoint({
        name: 'metered',
        only: 'balance',
        price: ({ body }: { body: unknown }) => usdOf(((body as Work).units ?? 1) + more * 10_000),
        priceHint: 'by the base unit',
        ...common,
        ...worker('metered'),
      }),
      endpoint({ name: 'cash', balance: false, price: price(1), ...common, ...worker('cash') }),
    ],
  })
}

/** What balances are sold for, in base units. */
export const AMOUNTS = { '$0.03': 30_000n, '$0.10': 100_000n, '$1.00': 1_000_000n } as const

function usdOf(units: number): string {
  return `$${(units / 1_000_000).toFixed(6)}`
}

/** The endpoints that a balance of their agent pays for. */
const ON_BALANCE = ['work', 'research', 'units', 'tale', 'metered', 'sister/work', 'sister/tale'] as const

export function takesBalance(endpoint: EndpointName): boolean {
  return (ON_BALANCE as readonly string[]).includes(endpoint)
}

export const sellsBalance = (endpoint: EndpointName) =>
  endpoint === 'balance' || endpoint === 'sister/balance'

/** The least and the most that a call of an endpoint costs, in base units, whichever version runs. */
export function pricesOf(endpoint: EndpointName, { units = 1 }: Work, { deploy }: Conditions) {
  const [least, dearer] =
    endpoint === 'units'
      ? [units * 1_000, 0]
      : endpoint === 'metered'
        ? [units, CENT]
        : [CENTS[endpoint] ?? CENT, CENT]
  return { least: BigInt(least), most: BigInt(least + (deploy === 'price' ? dearer : 0)) }
}

const CENT = 10_000
const CENTS: Partial<Record<EndpointName, number>> = { research: 5 * CENT }

const STREAMING: ReadonlySet<string> = new Set(['tale', 'feed'])
