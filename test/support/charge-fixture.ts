/** One call whose time stands still, and whose store, leases and credit only record. `seen` has what they received. */

import type { Owned } from '../../src/app/charge/call-at-work.js'
import type { ChargeDeps, EndpointEntry } from '../../src/app/charge/charge-deps.js'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import type { ChargeRequest } from '../../src/ports/charge.js'
import type { Closed, CloseMove } from '../../src/ports/charge-store.js'
import type { ReadPayment } from '../../src/ports/payment-reader.js'
import type { CallFields } from './call-fields.js'
import { oneCall, SELLER, START_MS, TESTNET_USDC } from './one-call.js'

export const UUID = '01234567-89ab-4cde-8f01-23456789abcd'
export const SECRET = 'a key of more than sixteen characters'
export const REQUIREMENTS = {
  scheme: 'exact',
  network: CAIP2.testnet,
  amount: '10000',
  asset: TESTNET_USDC,
  payTo: SELLER,
  maxTimeoutSeconds: 60,
  extra: {},
} as const
/** The same, in the other spelling of the network's id. */
export const RESPELT = { ...REQUIREMENTS, network: TESTNET.wholeHashId } as const
export const PAYMENT: ChargeRequest['payment'] = { kind: 'read', value: {} }
export const HOLD = {
  slot: 'PAYER',
  token: UUID,
  payment: 'TX',
  claim: { name: 'claim', bodyHash: 'hash' },
} as const

export const OWNED: Owned = {
  hold: HOLD,
  seals: [SECRET],
  isBearer: false,
  caller: undefined,
  answerName: 'own',
}

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
  readonly call?: CallFields
}

export function scene(given: Scene = {}) {
  const { closed = 'closed', read = {} } = given
  const seen = {
    closes: [] as CloseMove[],
    pending: [] as CloseMove[],
    leases: [] as string[],
    inDoubt: [] as unknown[][],
    credit: [] as unknown[][],
    deleted: [] as string[],
    logged: [] as unknown[],
    inFlight: 0,
    /** Reports to the call's listener how the response ended. */
    end: undefined as ((arrived: boolean) => void) | undefined,
  }
  const says = (fields: object) => void seen.logged.push(fields)
  const { world, endpoint, request, call } = oneCall({
    def: { timeout: 10_000 },
    paid: read ?? 'unreadable',
    rules: {
      idempotency: undefined,
      sealSecrets: [],
      retentionMs: 500,
      answerBytesMax: 100,
      ...given.rules,
    } as never,
    endpoint: given.endpoint,
    request: {
      payment: { kind: 'none' },
      caller: {
        gone: () => false,
        onGone: () => () => {},
        onEnd(listener) {
          seen.end = listener
        },
      },
      ...given.request,
    },
    call: given.call,
    world: {
      clock: { monotonic: () => START_MS, now: () => START_MS + 7 },
      random: {
        uuid: () => UUID,
        bytes: (length: number) => new Uint8Array(length),
        iv: () => new Uint8Array(12),
      },
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
      inDoubt: { add: (...added: unknown[]) => void seen.inDoubt.push(added) },
      pendingCloses: { add: (move: CloseMove) => void seen.pending.push(move) },
      credit: { giveBack: (...run: unknown[]) => void seen.credit.push(run) },
      subscriptions: { delete: async (id: string) => void seen.deleted.push(id) },
      logger: { debug: says, info: says, warn: says, error: says },
      ...given.world,
    } as unknown as ChargeDeps,
  })
  const inFlight = { enter: () => void seen.inFlight++, leave: () => void seen.inFlight-- }
  return { world, endpoint, request, call, inFlight, seen }
}
