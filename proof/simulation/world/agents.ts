/** What the seller sells: two agents with one address, whose endpoints have the same names; and the versions that a deploy makes. */
import {
  type AgentDef,
  defineAgent,
  defineEndpoint,
  type HandlerContext,
  SvcError,
} from '../../../src/index.js'
import { sleep } from '../../../src/ports/timeouts-and-aborts.js'
import type { Conditions } from '../conditions.js'
import type { Process } from '../kernel/process.js'
import type { World } from './world.js'

export const ORIGIN = 'https://seller.example'
export const SISTER = 'https://sister.example'
export const ENDPOINTS = [
  ...['work', 'research', 'units', 'feed', 'tale', 'vault'],
  // The same names, of another agent of this seller.
  ...['sister/work', 'sister/feed', 'sister/tale'],
] as const as readonly EndpointName[]
export type EndpointName =
  | 'work'
  | 'research'
  | 'units'
  | 'feed'
  | 'tale'
  | 'vault'
  | 'sister/work'
  | 'sister/feed'
  | 'sister/tale'

export function originOf(endpoint: EndpointName): string {
  return endpoint.startsWith('sister/') ? SISTER : ORIGIN
}

/** What a handler is asked to do with its caller's money. */
export interface Work {
  readonly act: string
  readonly does: 'return' | 'throw' | 'refuse' | 'stall' | 'nothing' | 'redirect' | 'much'
  /** How long it takes. */
  readonly ms?: number
  readonly units?: number
  /** How the stream ends, where it is asked of the endpoint that sells streams. */
  readonly tale?: Tale
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

/** Each event names the run, as an answer does. */
async function* told(process: Process, answer: unknown, tale: Tale): AsyncGenerator<unknown> {
  yield answer
  await sleep(process.clock, tale.ms)
  if (tale.ends === 'break') throw new Error('the tale breaks')
  if (tale.ends === 'never') await new Promise(() => {})
  yield answer
}

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

export function agentOf(
  world: World,
  process: Process,
  payTo: string,
  terms: Terms,
  of: '' | 'sister/',
): AgentDef {
  const { deploy } = world.conditions
  const handler = (name: string) => async (context: HandlerContext) => {
    const endpoint = `${of}${name}` as EndpointName
    const work = context.body as Work
    const run = world.truth.runBegins(endpoint, work, context)
    if (work.ms !== undefined) await sleep(process.clock, work.ms)
    switch (work.does) {
      case 'throw':
        throw new Error('broken')
      case 'refuse':
        throw new SvcError('not today', 'not_today', 422)
      case 'nothing':
        return undefined
      case 'stall':
        return new Promise(() => {})
      case 'return':
      case 'redirect':
      case 'much':
        world.truth.runReturns(run)
        return STREAMING.has(name) && work.tale && work.does !== 'redirect'
          ? told(process, answerOf(run.id, work), work.tale)
          : answerOf(run.id, work)
    }
  }
  const timeout = HANDLER_TIMEOUT_MS
  const calls = terms.windowCalls
  const price = (cents: number) =>
    `$${((cents + (terms.isNew && deploy === 'price' ? 1 : 0)) / 100).toFixed(2)}`
  const input =
    terms.isNew && deploy === 'schema' ? ({ type: 'object', required: ['act'] } as const) : undefined
  const stream = { stream: true, streamTimeout: STREAM_TIMEOUT_MS } as const
  const common = { timeout, ...(input && { input }) }
  const window = (cents: number) => ({
    subscription: { price: price(cents), period: '2h', ...(calls !== undefined && { calls }) },
  })
  const work = defineEndpoint({ name: 'work', price: price(1), ...common, handler: handler('work') })
  const tale = defineEndpoint({
    name: 'tale',
    price: price(1),
    ...stream,
    ...common,
    handler: handler('tale'),
  })
  const feed = defineEndpoint({
    name: 'feed',
    ...window(of ? 50 : 3),
    ...stream,
    ...common,
    handler: handler('feed'),
  })
  const about = { description: 'Sells what is asked for.', network: 'testnet', payTo } as const
  if (of) return defineAgent({ name: 'Sister', handle: 'sister', ...about, endpoints: [work, tale, feed] })
  return defineAgent({
    name: 'Simulated',
    handle: 'simulated',
    ...about,
    endpoints: [
      work,
      defineEndpoint({ name: 'research', price: price(5), ...common, handler: handler('research') }),
      defineEndpoint({
        name: 'units',
        price: ({ body }: { body: unknown }) => `$0.00${(body as Work).units ?? 1}`,
        priceHint: '$0.001 a unit',
        ...common,
        handler: handler('units'),
      }),
      tale,
      feed,
      defineEndpoint({ name: 'vault', ...window(90), ...common, handler: handler('vault') }),
    ],
  })
}

const STREAMING: ReadonlySet<string> = new Set(['tale', 'feed'])
