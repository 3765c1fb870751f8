import type { ChargeDeps } from '../../src/app/charge/charge-deps.js'
import { open } from '../../src/app/charge/effects/open.js'
import type { Landing } from '../../src/ports/chain.js'
import type { Opened, OpenMove } from '../../src/ports/charge-store.js'
import { type Given, oneCall } from './one-call.js'

export const LEASE_MS = 15_000

export interface Opening extends Given {
  readonly key?: string
  readonly says?: Opened | Error
  readonly landing?: Landing
  readonly round?: bigint
  readonly hasLanded?: boolean
}

/** One call whose effect has answered, and what was asked of the store, the chain, the leases and the background. */
export async function opened({ key, says = { verdict: 'opened' }, landing = 'unknown', ...given }: Opening) {
  const seen = {
    moves: [] as OpenMove[],
    kept: [] as unknown[][],
    pending: [] as unknown[],
    lookups: [] as unknown[],
    landedAsked: [] as string[],
  }
  const world = {
    store: {
      open: async (move: OpenMove) => {
        seen.moves.push(move)
        if (says instanceof Error) throw says
        return says
      },
    },
    chain: {
      round: async () => given.round,
      hasLanded: async (txId: string) => {
        seen.landedAsked.push(txId)
        return given.hasLanded
      },
      lookup: async (txId: string, { firstValid, lastValid }: { firstValid: bigint; lastValid: bigint }) => {
        seen.lookups.push([txId, firstValid, lastValid])
        return landing
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
