/** How far the clocks of an episode's machines are off, and when they jump. */
import type { Skew } from '../kernel/process.js'
import type { World } from './world.js'

/** As often as a machine may be set in one episode. */
const JUMPS = 3

/** The same for all processes of one machine. */
export function skewOf({ fate, conditions }: Pick<World, 'fate' | 'conditions'>, machine: string): Skew {
  const { skewMs, clocksJump, spanMs } = conditions
  const dice = fate.dice(`${machine}.skew`)
  const off = () => dice.between(-skewMs, skewMs)
  const skew = { nowMs: off(), upMs: dice.between(0, 1_000_000) }
  if (!clocksJump) return skew
  const jumps = Array.from({ length: JUMPS }, () => ({ atMs: dice.between(0, spanMs), nowMs: off() }))
  return { ...skew, jumps: jumps.sort((one, other) => one.atMs - other.atMs) }
}
