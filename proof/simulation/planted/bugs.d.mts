import type { Edit } from '../bundle.mjs'

export interface Bug {
  readonly name: string
  readonly says: string
  /** The features that it takes together, where it is an interaction of two. */
  readonly meets?: string
  readonly edits: readonly Edit[]
}

export const ONCE_THERE: readonly Bug[]
export const MADE_UP: readonly Bug[]
export const ON_BALANCES: readonly Bug[]
export const ON_UPSTREAMS: readonly Bug[]
export const ON_FORGETTING: readonly Bug[]
export const ON_PARTS: readonly Bug[]
