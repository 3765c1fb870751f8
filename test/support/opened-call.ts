import type { ChargeDeps } from '../../src/app/charge/charge-deps.js'
import { open } from '../../src/app/charge/effects/open.js'
import type { CloseMove, Opened, OpenMove } from '../../src/ports/charge-store.js'
import { type Given, oneCall } from './one-call.js'

export const LEASE_MS = 15_000

export interface Opening extends Given {
  readonly key?: string
  /** What the store answers; several in turn. */
  readonly says?: Opened | Error | readonly Opened[]
  readonly round?: bigint
  readonly hasLanded?: boolean
  /** The store does not answer closing moves. */
  readonly isStuck?: boolean
}

/** One call whose effect has answered, and what was asked of the store, the chain, the leases and the background. */
export async function opened({ key, says = { verdict: 'opened' }, ...given }: Opening) {
  const seen = {
    moves: [] as OpenMove[],
    closes: [] as CloseMove[],
    kept: [] as unknown[][],
    pending: [] as unknown[],
    landedAsked: [] as string[],
  }
  const world = {
    store: {
      open: async (move: OpenMove) => {
        seen.moves.push(move)
        if (says instanceof Error) throw says
        return Array.isArray(says) ? says[seen.moves.length - 1] : says
      },
      close: async (move: CloseMove) => {
        seen.closes.push(move)
        if (given.isStuck) throw new Error('down')
        return 'closed'
      },
    },
    chain: {
      round: async () => given.round,
      hasLanded: async (txId: string) => {
        seen.landedAsked.push(txId)
        return given.hasLanded
      },
    },
    leases: { leaseMs: LEASE_MS, keep: (...kept: unknown[]) => seen.kept.push(kept) },
    pendingCloses: { add: (move: unknown) => seen.pending.push(move) },
    ...given.world,
  } as unknown as Partial<ChargeDeps>
  const request = { ...(key !== undefined && { idempotencyKey: key }), ...given.request }
  const { call, ended } = oneCall({ ...given, request, world })
  return { answer: (await ended(open)).answer, call, ...seen }
}

export const claimOf = async (given: Opening) => (await opened(given)).moves[0]!.claim
