/**
 * While an episode runs, libraries that read the machine's clock read the simulated one, and nothing may set a timer of the
 * machine's or make its own randomness: an episode that did could not be repeated.
 */
import { Agent, type Dispatcher } from 'undici'
import { EPOCH_MS } from './kernel/process.js'

export interface Machine {
  nowMs: () => number
  /** Takes what is sent to a server behind the seller. */
  dispatch: Dispatcher['dispatch']
}

/** The MCP library keeps a connection awake by an interval, which does nothing for one request. It never comes due here. */
const NEVER = { unref() {}, ref() {} }

export async function quiet<T>(run: (machine: Machine) => Promise<T>): Promise<T> {
  const real = {
    now: Date.now,
    performanceNow: performance.now,
    random: Math.random,
    setTimeout,
    setInterval,
  }
  const refused = (what: string) => () => {
    throw new Error(`${what} was used in a simulation`)
  }
  const machine: Machine = { nowMs: () => 0, dispatch: refused('a connection') }
  Date.now = () => Math.floor(EPOCH_MS + machine.nowMs())
  performance.now = () => machine.nowMs()
  Math.random = refused('Math.random')
  // In the place of what it inherits.
  Agent.prototype.dispatch = (options, reply) => machine.dispatch(options, reply)
  Object.assign(globalThis, { setTimeout: refused('setTimeout'), setInterval: () => NEVER })
  try {
    return await run(machine)
  } finally {
    Date.now = real.now
    performance.now = real.performanceNow
    Math.random = real.random
    Reflect.deleteProperty(Agent.prototype, 'dispatch')
    Object.assign(globalThis, { setTimeout: real.setTimeout, setInterval: real.setInterval })
  }
}
