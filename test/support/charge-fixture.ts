/** A world of fakes and a call in it, for tests of one part of a charge by itself. What the fakes were asked is in `seen`. */
import { type Call, newCall } from '../../src/app/charge/call-record.js'
import { type ChargeDeps, DEFAULT_TIMEOUTS, type EndpointEntry } from '../../src/app/charge/charge-deps.js'
import type { PaymentPayload } from '../../src/domain/x402.js'
import type { ChargeRequest } from '../../src/ports/charge.js'
import type { Closed, CloseMove } from '../../src/ports/charge-store.js'
import type { ReadPayment } from '../../src/ports/payment-reader.js'

export const NOW_MS = 1_000_000
export const UUID = '01234567-89ab-4cde-8f01-23456789abcd'
export const SECRET = 'a key of more than sixteen characters'
export const ASSET = '31566704'
export const REQUIREMENTS = {
  scheme: 'exact',
  network: 'algorand:testnet',
  amount: '10000',
  asset: ASSET,
  payTo: 'SELLER',
  maxTimeoutSeconds: 60,
  extra: {},
} as const
export const READ: ReadPayment = {
  txId: 'TX',
  payer: 'PAYER',
  receiver: 'SELLER',
  amount: 10_000n,
  asset: ASSET,
  firstValid: 100n,
  lastValid: 208n,
  network: 'testnet',
  signature: 'SIGNATURE',
  isOfGroup: id => id === 'TX',
  proven: () => true,
}
export const PAYMENT: ChargeRequest['payment'] = { kind: 'read', value: {} }
export const HOLD = {
  slot: 'PAYER',
  token: UUID,
  payment: 'TX',
  claim: { name: 'claim', bodyHash: 'hash' },
} as const

export interface Scene {
  readonly world?: Partial<ChargeDeps>
  readonly rules?: Partial<ChargeDeps['rules']>
  readonly endpoint?: Partial<EndpointEntry>
  readonly request?: Partial<ChargeRequest>
  /** What can be read in a payment that is presented; `null` where nothing can. */
  readonly read?: Partial<ReadPayment> | null
  /** What the store answers to a closing move; an error where it is down. */
  readonly closed?: Closed | Error
  /** Whether the lease of the call may have lapsed. */
  readonly mayHaveLapsed?: boolean
  readonly call?: Partial<Call>
}

export function scene(given: Scene = {}) {
  const { closed = 'closed', read } = given
  const seen = {
    closes: [] as CloseMove[],
    pending: [] as CloseMove[],
    leases: [] as string[],
    credit: [] as unknown[][],
    deleted: [] as string[],
    logged: [] as unknown[],
    inFlight: 0,
    /** Tells whoever waits for it how the response ended. */
    end: undefined as ((arrived: boolean) => void) | undefined,
  }
  const says = (fields: object) => void seen.logged.push(fields)
  const endpoint = {
    def: { name: 'work', timeout: 10_000 },
    terms: { fixedAmount: 10_000n },
    ...given.endpoint,
  } as unknown as EndpointEntry
  const world = {
    network: 'testnet',
    payTo: 'SELLER',
    assetId: ASSET,
    endpoints: new Map([['work', endpoint]]),
    rules: { retentionMs: 500, answerBytesMax: 100, credit: {}, timeouts: DEFAULT_TIMEOUTS, ...given.rules },
    clock: { monotonic: () => NOW_MS, now: () => NOW_MS + 7 },
    random: { uuid: () => UUID, bytes: (length: number) => new Uint8Array(length) },
    reader: { read: (_: PaymentPayload) => (read === null ? undefined : { ...READ, ...read }) },
    leases: {
      leaseMs: 15_000,
      keep: () => {},
      drop: (token: string) => void seen.leases.push(`drop ${token}`),
      pass: (token: string) => void seen.leases.push(`pass ${token}`),
      mayHaveLapsed: () => given.mayHaveLapsed ?? false,
    },
    store: {
      close: async (move: CloseMove) => {
        seen.closes.push(move)
        if (closed instanceof Error) throw closed
        return closed
      },
    },
    pendingCloses: { add: (move: CloseMove) => void seen.pending.push(move) },
    credit: { give: (...run: unknown[]) => void seen.credit.push(run) },
    subscriptions: { delete: async (id: string) => void seen.deleted.push(id) },
    logger: { debug: says, info: says, warn: says, error: says },
    ...given.world,
  } as unknown as ChargeDeps
  const request = {
    headers: {},
    query: {},
    body: { kind: 'none' },
    payment: { kind: 'none' },
    baseUrl: 'https://a.example',
    clientAddress: '192.0.2.1',
    caller: {
      gone: () => false,
      onGone: () => () => {},
      onEnd(listener: (arrived: boolean) => void) {
        seen.end = listener
      },
    },
    ...given.request,
  } as ChargeRequest
  const call: Call = Object.assign(newCall(world, endpoint, request), given.call)
  const inFlight = { enter: () => void seen.inFlight++, leave: () => void seen.inFlight-- }
  return { world, endpoint, request, call, inFlight, seen }
}
