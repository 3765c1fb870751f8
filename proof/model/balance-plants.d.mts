import type { Plant } from './plants.mjs'

export const BALANCE_PLANTS: readonly Plant[]
