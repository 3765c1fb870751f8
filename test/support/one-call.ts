/** One call of one endpoint and the world around it, for tests of single effects: on virtual time, with the stores in memory. */

import { Timeline } from '../../proof/simulation/kernel/timeline.js'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { type Call, newCall } from '../../src/app/charge/call-at-work.js'
import {
  type ChargeDeps,
  DEFAULT_TIMEOUTS,
  type EndpointEntry,
  type Rules,
  type Upkeep,
} from '../../src/app/charge/charge-deps.js'
import { endpointOwner, keyOfCall, ownerOf } from '../../src/app/charge/names-in-stores.js'
import { termsOf } from '../../src/app/charge/payment-challenge.js'
import { endpoint as defined, type EndpointDef } from '../../src/domain/endpoint.js'
import { examplesOf } from '../../src/domain/example-input.js'
import { TESTNET } from '../../src/domain/network.js'
import type { PaymentPayload } from '../../src/domain/x402.js'
import type { ChargeRequest } from '../../src/ports/charge.js'
import type { PaymentReader, ReadPayment } from '../../src/ports/payment-reader.js'
import { systemRandom } from '../../src/ports/random.js'
import { type CallFields, withFields } from './call-fields.js'
import { clockOf } from './virtual-clock.js'

export const START_MS = 1_000_000
export const SELLER = 'SELLER'
export const ADDRESS = '192.0.2.7'
/** Of the endpoint `work` of the seller. */
export const OWNER = endpointOwner(ownerOf(TESTNET, SELLER, 'agent'), 'work')
export const TESTNET_USDC = '10458941'
export const READ: ReadPayment = {
  txId: 'TX',
  payer: 'PAYER',
  receiver: SELLER,
  amount: 10_000n,
  asset: TESTNET_USDC,
  firstValid: 100n,
  lastValid: 200n,
  groupProblem: undefined,
  genesisHash: TESTNET.genesisHash,
  wrapperDigest: 'WRAPPER',
  sponsor: undefined,
  isOfGroup: id => id === 'TX',
  proven: () => true,
  isSignedByPayer: () => false,
}

/** A store, a node or a facilitator that does not answer. */
export const DOWN = new Proxy({}, { get: () => () => Promise.reject(new Error('down')) }) as never

/** What is given of the upkeep stands beside the rest. */
export type World = Partial<ChargeDeps & Upkeep>

export interface Given {
  readonly def?: Partial<EndpointDef>
  readonly endpoint?: Partial<EndpointEntry> | undefined
  readonly request?: Partial<ChargeRequest> | undefined
  /** What can be read in the payment that is presented; `unreadable` where nothing can. */
  readonly paid?: Partial<ReadPayment> | 'unreadable'
  /** Instead of `paid`. */
  readonly reader?: PaymentReader
  readonly payload?: PaymentPayload
  readonly rules?: Partial<Rules>
  readonly world?: World
  readonly payTo?: string
  readonly call?: CallFields | undefined
}

export function oneCall(given: Given = {}) {
  const timeline = new Timeline()
  timeline.nowMs = START_MS
  const clock = clockOf(timeline)
  const caller = told()
  const cut = told()
  const said: string[] = []
  const says = (_: object, message: string) => void said.push(message)
  const { paid, payload = {} } = given
  const reader = given.reader ?? { read: () => (paid === 'unreadable' ? undefined : { ...READ, ...paid }) }
  const payTo = given.payTo ?? SELLER
  const def = { ...defined({ name: 'work', price: '$0.01', handler: () => ({ done: true }) }), ...given.def }
  const owner = ownerOf(TESTNET, payTo, 'agent')
  const endpoint: EndpointEntry = {
    def,
    owner: endpointOwner(owner, def.name),
    soldAs: def.name,
    terms: termsOf(def, { network: TESTNET, payTo, maxTimeoutSeconds: 60, networkIds: 'both' }),
    check: undefined,
    examples: () => examplesOf((given.endpoint?.def ?? def).input),
    takesBalance: false,
    periodMs: undefined,
    rate: undefined,
    ...given.endpoint,
  }
  const { leases, inDoubt, pendingCloses, pendingWindowMoves, ...rest } = given.world ?? {}
  const world = {
    owner,
    upkeep: { leases, inDoubt, pendingCloses, pendingWindowMoves },
    endpoints: new Map([['work', endpoint]]),
    facilitator: { supported: () => undefined },
    chain: { hasLanded: async () => false },
    subscriptions: memorySubscriptions({ clock }),
    rateLimit: memoryCounters({ clock, max: 100 }),
    credit: memoryCounters({ clock, max: 100 }),
    reader: async () => reader,
    clock,
    random: systemRandom,
    stop: { draining: () => false, cutting: cut.isTold, onCut: cut.listen },
    logger: { debug: says, info: says, warn: says, error: says },
    rules: {
      uncountedAdmitted: false,
      idempotency: { onLostResponse: 'replay' },
      retentionMs: 60_000,
      keepAnswersMs: 120_000,
      sealSecrets: [],
      answerBytesMax: 1_000,
      credit: { max: 1, floor: -2, periodMs: 60_000, isRenewed: true },
      requireReadable: false,
      confirmOnChain: false,
      timeouts: DEFAULT_TIMEOUTS,
      ...given.rules,
    },
    ...rest,
  } as unknown as ChargeDeps
  const request: ChargeRequest = {
    headers: {},
    query: {},
    body: { kind: 'none' },
    payment: paid === undefined ? { kind: 'none' } : { kind: 'read', value: payload },
    baseUrl: 'http://agent.test',
    clientAddress: ADDRESS,
    caller: { gone: caller.isTold, onGone: caller.listen, onEnd: () => {} },
    ...given.request,
  }
  /** What an effect answers, and after how many milliseconds. */
  async function ended<T>(effect: (world: ChargeDeps, call: Call) => T | Promise<T>, call: Call = it.call) {
    const sinceMs = timeline.nowMs
    let end: { answer: T; ms: number } | undefined
    const walked = Promise.resolve(effect(world, call)).then(answer => {
      end = { answer, ms: timeline.nowMs - sinceMs }
    })
    walked.catch(() => {})
    await timeline.run(sinceMs + 3_600_000, () => end !== undefined)
    if (end === undefined) await Promise.race([walked, Promise.reject(new Error('it does not end'))])
    return end!
  }
  const begun = newCall(world, endpoint, request, reader)
  begun.holds.key = keyOfCall(world.rules, begun).key
  const it = {
    world,
    endpoint,
    request,
    call: withFields(begun, given.call),
    timeline,
    said,
    ended,
    hangUp: caller.tell,
    cut: cut.tell,
    /** Who still waits to be told that the caller hung up or that the server stops. */
    listeners: () => caller.count() + cut.count(),
  }
  return it
}

/** Something that happens once, and those who wait to be told. */
function told() {
  const listeners = new Set<() => void>()
  let isTold = false
  return {
    isTold: () => isTold,
    count: () => listeners.size,
    listen(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    tell() {
      isTold = true
      for (const listener of listeners) listener()
    },
  }
}
